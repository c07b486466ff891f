"""The header that the tests of ARFF-HMC put before their rows."""

HEADER = """% yeast
@RELATION 'cell cycle'

@ATTRIBUTE gene string
@attribute "alpha \\"0\\"" numeric
@Attribute strand {w, 'c c', "it\\'s"}\t% one of three
@attribute class HIERARCHICAL 1, 1/1, 1/2/3,2   % paths
@attribute length integer

@Data
"""
