"""Every table and figure of the paper, each as one experiment.

`registry.EXPERIMENTS` maps names to experiments, `runner.run` runs one and stores its rows, and
`report.write_report` draws all tables and figures from stored rows.
"""
