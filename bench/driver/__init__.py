"""What every section of the benchmark needs: a server, the programs, their processes, tables and goals."""
