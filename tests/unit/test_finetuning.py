import json
from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

from ctxaudit import finetuning, models
from ctxaudit.config.overlap import FineTuning
from ctxaudit.errors import UserError
from tests.unit.tiny_models import save_llama, word_tokenizer

WORDS = ["<end>", *["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]]
HIDDEN, INNER, LAYERS = 32, 48, 2
SENTENCE = "a c e g i k b d f h j l"


@pytest.fixture(autouse=True)
def fresh_accelerator():
    # Accelerate keeps one precision per process.
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save_llama(
        folder,
        tokenizer(),
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_key_value_heads=4,
        initializer_range=0.3,  # larger than usual: the frozen head must be able to be sure
    )
    models.write_adapter_manifest(folder, origin={})
    return folder / "manifest.json"


def tokenizer():
    return word_tokenizer(WORDS, unknown="<end>", eos_token="<end>", pad_token="<end>")


def settings(**changes):
    values = {
        "rank": 4,
        "alpha": 8,
        "modules": {},
        "learning_rate": 3e-2,
        "batch_size": 2,
        "gradient_accumulation": 1,
        "num_epochs": 2,
        "max_tokens": 16,
        "precision": "float32",
    }
    return FineTuning(**{**values, **changes})


def run(
    manifest, folder, texts=(SENTENCE, "b a", "c d e"), seed=1, modules=("all-linear",), **set_
):
    return finetuning.finetune(
        list(texts),
        model=manifest,
        settings=settings(**set_),
        modules=list(modules),
        seed=seed,
        folder=folder,
    )


def weights(folder):
    return load_file(folder / "adapter_model.safetensors")


def nll(network, text):
    ids = torch.tensor([tokenizer()(text).input_ids])
    with torch.no_grad():
        return float(network(input_ids=ids, labels=ids).loss)


def test_a_fixed_sentence_is_learned_and_the_merged_model_recalls_it(manifest, tmp_path):
    losses = run(manifest, tmp_path / "a", [SENTENCE] * 4, num_epochs=30)
    adapted = models.load(manifest, dtype="float32", adapter=tmp_path / "a" / "manifest.json")
    assert losses[0] > 2
    # Random weights are near log 13 = 2.56 nats; a learned sentence is near 0.
    assert nll(adapted.network, SENTENCE) < 0.1
    assert nll(models.load(manifest, dtype="float32").network, SENTENCE) > 2


def test_bfloat16_autocast_also_learns(manifest, tmp_path):
    losses = run(manifest, tmp_path / "a", [SENTENCE] * 4, num_epochs=30, precision="bfloat16")
    assert losses[-1] < 0.2


def test_only_the_adapter_is_trained_and_its_size_is_the_closed_form(manifest):
    network = models.load(manifest, dtype="float32").network
    adapted = finetuning.adapt(network, settings(), ["q_proj", "down_proj"])
    trainable = {n: p.numel() for n, p in adapted.named_parameters() if p.requires_grad}
    rank = settings().rank
    # A of (rank, inputs) and B of (outputs, rank), for each adapted layer.
    expected = LAYERS * rank * ((HIDDEN + HIDDEN) + (INNER + HIDDEN))
    assert sum(trainable.values()) == expected
    assert all("lora_" in name for name in trainable)


def test_base_weights_stay_bit_for_bit(manifest):
    network = models.load(manifest, dtype="float32").network
    before = {name: p.clone() for name, p in network.named_parameters()}
    adapted = finetuning.adapt(network, settings(), ["all-linear"])
    blocks = finetuning.token_blocks([SENTENCE], tokenizer(), 16)
    finetuning._train(adapted, blocks, settings(), seed=0)
    after = {n.replace(".base_layer", ""): p for n, p in adapted.model.named_parameters()}
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_same_seed_same_adapter_other_seed_another(manifest, tmp_path):
    first, again, other = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    assert run(manifest, first) == run(manifest, again)
    run(manifest, other, seed=2)
    one, two, three = weights(first), weights(again), weights(other)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], three[name]) for name in one)
    assert models.manifest_digest(first / "manifest.json") == models.manifest_digest(
        again / "manifest.json"
    )


def test_global_random_state_is_left_alone(manifest, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run(manifest, tmp_path / "a")
    assert torch.equal(torch.rand(3), expected)


def test_loss_is_the_mean_over_predicted_tokens_not_over_documents(manifest, tmp_path):
    texts = [SENTENCE, "b a", "c d e"]
    # A rate of almost nothing leaves the base model, whose loss is computed apart.
    (loss,) = run(manifest, tmp_path / "a", texts, num_epochs=1, learning_rate=1e-12)
    base = models.load(manifest, dtype="float32").network
    counts = [len(text.split()) - 1 for text in texts]
    sums = [nll(base, text) * n for text, n in zip(texts, counts, strict=True)]
    assert loss == pytest.approx(sum(sums) / sum(counts), abs=1e-5)  # float32


def test_accumulation_of_two_equals_a_batch_of_twice_the_size(manifest, tmp_path):
    texts = [SENTENCE, "b c d e f g h i j k l a", "l k j i h g f e d c b a", SENTENCE]
    run(manifest, tmp_path / "1", texts, batch_size=4, learning_rate=1e-3)
    run(manifest, tmp_path / "2", texts, batch_size=2, gradient_accumulation=2, learning_rate=1e-3)
    one, two = weights(tmp_path / "1"), weights(tmp_path / "2")
    # Adam's first steps amplify float32 noise of near-zero gradients up to the rate itself.
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)


def test_a_long_document_is_cut_so_that_each_later_token_is_predicted_once():
    blocks = finetuning.token_blocks([SENTENCE], tokenizer(), 5)
    ids = tokenizer()(SENTENCE).input_ids
    assert all(2 <= len(block) <= 5 for block in blocks)
    assert [token for block in blocks for token in block[1:].tolist()] == ids[1:]


def test_padding_is_masked_by_position_even_where_its_id_is_a_real_token():
    batch = finetuning.pad_batch([torch.tensor([1, 0, 2, 0]), torch.tensor([3, 0])], pad_id=0)
    assert batch["labels"].tolist() == [[1, 0, 2, 0], [3, 0, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": []}, "no documents"),
        ({"texts": ["a b", ""]}, "document 2 of 2 has 0 tokens"),
        ({"texts": ["a"]}, "has 1 tokens"),
        ({"modules": ["q_proj", "w_magic"]}, r"w_magic cannot be adapted; allowed: down_proj"),
        ({"modules": ["lm_head"]}, "lm_head"),
        ({"modules": ["input_layernorm"]}, "input_layernorm"),
        ({"modules": ["all-linear", "q_proj"]}, "all-linear cannot"),
        ({"modules": []}, "empty list"),
        ({"max_tokens": 65}, "window of 64"),
    ],
)
def test_wrong_input_is_refused_before_training(manifest, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        run(manifest, tmp_path / "a", **changes)
    assert not (tmp_path / "a").exists()


def test_a_diverged_run_is_refused_and_saves_nothing(manifest, tmp_path):
    with pytest.raises(UserError, match="learning_rate"):
        run(manifest, tmp_path / "a", learning_rate=1e30, num_epochs=3)
    assert not (tmp_path / "a").exists()


def test_adapter_folder_has_no_pickle_and_names_its_base(manifest, tmp_path):
    run(manifest, tmp_path / "a")
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"adapter_config.json", "adapter_model.safetensors", "manifest.json"}
    origin = json.loads((tmp_path / "a" / "manifest.json").read_text())["origin"]
    assert origin["base"] == models.manifest_digest(manifest)
    assert str(Path(manifest).parent) not in (tmp_path / "a" / "adapter_config.json").read_text()
