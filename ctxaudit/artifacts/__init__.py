"""The only place that knows file formats: parquet for tables, safetensors for tensors, JSONL.

Every writer writes beside its target and renames, so a file is there whole or not at all. One
module per group of artifacts: a change in one re-runs only the rules that read or write that group.
"""
