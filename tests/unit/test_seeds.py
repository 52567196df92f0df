from ctxaudit import seeds


def draw(seed: int, *names: str) -> float:
    return seeds.generator(seed, *names).random()


def test_the_same_seed_and_names_give_the_same_numbers():
    assert draw(1, "base", "q1") == draw(1, "base", "q1")


def test_seed_and_each_name_matter_and_names_do_not_run_together():
    draws = {draw(1, "a", "b"), draw(2, "a", "b"), draw(1, "ab"), draw(1, "b", "a"), draw(1, "a")}
    assert len(draws) == 5
