"""The configuration: one frozen model per section, unknown keys refused.

`config/schema.json` is generated from here (`make schema`). A rule receives the section that it
uses as one mapping, so that a changed value re-runs what reads it and nothing else.
"""
