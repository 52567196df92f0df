"""Time the ablation engine against plain scoring, a bare forward pass and context-cite."""
