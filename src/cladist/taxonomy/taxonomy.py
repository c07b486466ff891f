"""`Taxonomy`: a frozen tree, forest or DAG of names over arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.files import Source
from cladist.notebook import frame, html_tree
from cladist.taxonomy import construction, inspection, transforms
from cladist.taxonomy.construction import Draft, OnCycle
from cladist.taxonomy.structure import Structure, freeze, freeze_matrix
from cladist.taxonomy.texts import check_synonyms, check_texts, own_words

if TYPE_CHECKING:
    from cladist.taxonomy.revisions.crosswalk import Crosswalk


class Taxonomy(Structure):
    """A tree, a forest or a DAG of named nodes.

    Build one with `from_parents`, `from_edges`, `from_paths`, `from_networkx` or `read`. It is frozen, equal
    by content, hashable, and copying returns itself.

    Node ids are topological: ``parent[v] < v``, every level is one contiguous slice, and siblings in a tree are
    adjacent. `names`, indicator columns, losses and metrics follow that order. Several roots hang below a virtual root,
    written −1, that is not counted. In a DAG a node's level is the length of the longest path down to it.

    Parameters
    ----------
    draft : Draft
        Names and parents in any order, as the methods named above build them.

    Attributes
    ----------
    names : tuple of str
        The nodes' names in topological order.
    parts : tuple of str or None
        The last part of each node's path, in a taxonomy built from paths.
    sep : str or None
        The separator that joins the parts of a path, if there is one.
    dropped_edges : tuple of (str, str)
        Edges left out by ``from_edges(on_cycle="drop")``.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_parents({"sport": None, "tennis": "sport", "chess": "sport", "art": None})
    >>> taxonomy
    Taxonomy(forest, 4 nodes, 3 leaves, 2 roots, depth 1)
    >>> taxonomy.path("chess")
    ['sport', 'chess']
    >>> taxonomy.distance("chess", "art")
    3
    >>> print(taxonomy)
    sport
    ├── tennis
    └── chess
    art
    """

    dropped_edges: tuple[tuple[str, str], ...]
    _titles: dict[str, str]
    _descriptions: dict[str, str]
    _synonyms: dict[str, tuple[str, ...]]
    _stop_leaves: dict[str, str]

    def __init__(self, draft: Draft) -> None:
        if not draft.names:
            raise TaxonomyError("A taxonomy needs at least one node; none was given.")
        order = self._arrange(draft.indptr, draft.parents)
        names = tuple(np.array(draft.names, dtype=object)[order])
        titles, descriptions = check_texts(draft.titles, "titles"), check_texts(draft.descriptions, "descriptions")
        synonyms = check_synonyms(draft.synonyms)
        self.__dict__.update(
            names=names,
            parts=None if draft.parts is None else tuple(np.array(draft.parts, dtype=object)[order]),
            sep=draft.sep,
            dropped_edges=tuple(draft.dropped_edges),
            _titles={name: titles[name] for name in names if name in titles},
            _descriptions={name: descriptions[name] for name in names if name in descriptions},
            _synonyms={name: synonyms[name] for name in names if name in synonyms},
            _stop_leaves=dict(draft.stop_leaves),
        )

    @classmethod
    def from_parents(
        cls,
        parents: Mapping[Any, Any],
        *,
        titles: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        synonyms: Mapping[str, Sequence[str]] | None = None,
    ) -> Taxonomy:
        """Build from ``{child: parent}``.

        Parameters
        ----------
        parents : mapping
            The parent of each child; None, or a name that is only a parent, is a root. A list of parents makes a DAG.
        titles : mapping, optional
            What nodes are called for people, by name.
        descriptions : mapping, optional
            What nodes are, in a sentence or more, by name.
        synonyms : mapping, optional
            Other titles of nodes, by name: sequences of texts.

        Examples
        --------
        >>> Taxonomy.from_parents({"b": "a", "c": "a"}).names
        ('a', 'b', 'c')
        >>> Taxonomy.from_parents({"b": "a", "c": ["a", "b"]}).kind
        'dag'
        """
        return cls(construction.from_parents(parents).with_texts(titles, descriptions, synonyms))

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], *, on_cycle: OnCycle = "error") -> Taxonomy:
        """Build from (parent, child) pairs; a child with two parents makes a DAG.

        Parameters
        ----------
        edges : iterable of pairs
            The edges, as tuples, an array or a data frame of two columns.
        on_cycle : {"error", "drop"}
            "drop" leaves out the back edges of a depth-first walk from the roots, which takes the edges in their order,
            and lists them in `dropped_edges`.

        Examples
        --------
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")])
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: Taxonomy has a cycle: b → a → b (closed by entry 1). Remove ...
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")], on_cycle="drop").dropped_edges
        (('b', 'a'),)
        """
        return cls(construction.from_edges(edges, on_cycle=on_cycle))

    @classmethod
    def from_paths(cls, paths: Iterable[Any], *, sep: str = "/") -> Taxonomy:
        """Build from root-to-node paths; inner nodes are added.

        A node is its path. Its name is the last part where that is unique, the joined path otherwise.

        Parameters
        ----------
        paths : iterable of str or of sequences of str
            The paths, as joined texts or as parts; parts may be padded with None, NaN or "".
        sep : str
            The separator that joins the parts. Where all paths are given as parts, and "/" in them would give two nodes
            one spelling, it is " > ", or another one that they do not contain.

        Examples
        --------
        >>> Taxonomy.from_paths(["phones/cases", "laptops/cases", "laptops/bags"]).names
        ('phones', 'laptops', 'phones/cases', 'laptops/cases', 'bags')
        """
        return cls(construction.from_paths(paths, sep=sep))

    @classmethod
    def from_networkx(cls, graph: Any, *, on_cycle: OnCycle = "error") -> Taxonomy:
        """Build from a networkx ``DiGraph`` whose edges point from parent to child; `on_cycle` as in `from_edges`."""
        return cls(construction.from_networkx(graph, on_cycle=on_cycle))

    @classmethod
    def read(
        cls,
        path: Source,
        *,
        format: str | None = None,  # noqa: A002
        sep: str = "/",
        on_cycle: OnCycle = "error",
        scheme: str | None = None,
        lang: str | None = None,
    ) -> Taxonomy:
        """Read a taxonomy from a file.

        Parameters
        ----------
        path : path or binary stream
            The file; gzip, xz and bzip2 are unpacked.
        format : str, optional
            "edges", "paths", "csv", "tsv", "json", "indented", "rcv1", "mesh", "obo", "owl", "xlsx", "ods", or of SKOS
            "turtle", "rdfxml" or "jsonld"; None recognises the format by the file's ending, then by its content.
        sep : str
            The separator of paths.
        on_cycle : {"error", "drop"}
            As in `from_edges`.
        scheme : str, optional
            Of a SKOS vocabulary of several schemes, the one to read: its address, the end of it, or its title.
        lang : str, optional
            The language of the texts of a SKOS vocabulary; None: the one that most titles are in.

        Examples
        --------
        >>> import io
        >>> Taxonomy.read(io.BytesIO(b"sport -> tennis"), format="edges").names
        ('sport', 'tennis')
        """
        from cladist.taxonomy.formats.reader import read_taxonomy

        return read_taxonomy(path, format=format, sep=sep, on_cycle=on_cycle, scheme=scheme, lang=lang)

    def write(
        self,
        path: str | PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        sep: str = "/",
        lang: str | None = "en",
    ) -> None:
        """Write the taxonomy to a file.

        Parameters
        ----------
        path : path
            The file; an ending .gz, .xz or .bz2 compresses it.
        format : str, optional
            "edges", "paths", "csv", "tsv", "json", "indented", "rcv1", or for SKOS "turtle", "rdfxml" or "jsonld". None
            takes the format from the ending (.json, .csv, .tsv, .paths, .indented, .rcv1, .ttl, .rdf, .jsonld; edges
            otherwise).
        sep : str
            The separator of paths.
        lang : str or None
            The language that the texts of a SKOS vocabulary are marked with.
        """
        from cladist.taxonomy.formats.writer import write_taxonomy

        write_taxonomy(self, path, format=format, sep=sep, lang=lang)

    def to_networkx(self) -> Any:
        """Return a networkx ``DiGraph`` with edges from parent to child."""
        graph = construction.import_networkx("Taxonomy.to_networkx").DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges())
        return graph

    def with_titles(self, titles: Mapping[str, str]) -> Taxonomy:
        """Return the same taxonomy with these titles, by name."""
        return Taxonomy(replace(self.draft(), titles=titles))

    def with_texts(
        self,
        titles: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        synonyms: Mapping[str, Sequence[str]] | None = None,
    ) -> Taxonomy:
        """Return the same taxonomy with these texts of its nodes, by name; None leaves them as they are.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["sport/chess"]).with_texts(synonyms={"chess": ["the royal game"]})
        >>> taxonomy.synonyms
        {'chess': ('the royal game',)}
        """
        return Taxonomy(self.draft().with_texts(titles, descriptions, synonyms))

    def with_separator(self, sep: str) -> Taxonomy:
        """Return the same taxonomy, in which joined paths are names of nodes too.

        A taxonomy built from paths keeps its own separator; a DAG, where several paths may lead to a node, has none.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_edges([("sport", "tennis")]).with_separator(" > ")
        >>> taxonomy.index("sport > tennis"), taxonomy.joined_path(1)
        (1, 'sport > tennis')
        """
        if not sep:
            raise TaxonomyError("with_separator: sep must not be empty.")
        return self if self.sep is not None or self.kind == "dag" else Taxonomy(replace(self.draft(), sep=sep))

    @property
    def titles(self) -> dict[str, str]:
        """What nodes are called for people, by name, where the source has titles; not part of equality."""
        return dict(self._titles)

    @property
    def descriptions(self) -> dict[str, str]:
        """What nodes are, in a sentence or more, by name, where the source says so; not part of equality."""
        return dict(self._descriptions)

    @property
    def synonyms(self) -> dict[str, tuple[str, ...]]:
        """Other titles of nodes, by name, where the source has some; not part of equality."""
        return dict(self._synonyms)

    def words_of(self, name: str) -> str:
        """Return the words of a node: its title, description and synonyms, or its name where it has none.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_parents({"J45": None}, titles={"J45": "Asthma"}, synonyms={"J45": ["wheezing"]})
        >>> taxonomy.words_of("J45")
        'Asthma. wheezing'
        """
        return own_words(name, self._titles, self._descriptions, self._synonyms)

    def suggestion(self, name: Any) -> str:
        """Return the end of an error about an unknown name: what it is the title of, or the way to write it."""
        titled = next((node for node, title in self._titles.items() if title == str(name)), None)
        if titled is not None:
            return f"; it is the title of {quoted(titled)}, and labels are names of nodes."
        return super().suggestion(name)

    def title_of(self, name: str) -> str:
        """Return the title of a node, "" where it has none."""
        return self._titles.get(name, "")

    def _names_of(self, ids: Iterable[int]) -> list[str]:
        return [self.names[v] for v in ids]

    def path(self, name: str) -> list[str]:
        """Return the names from the root down to the node; `path_parts` returns the parts of nodes named by paths."""
        return self._names_of(self.path_ids(self.index(name)))

    def shortest_path(self, name: str) -> list[str]:
        """Return the names on the shortest path from a root down to the node; in a tree that is `path`.

        Of several shortest paths in a DAG, the first in the order of `names`, compared from the root down.

        Examples
        --------
        >>> dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c")])
        >>> dag.shortest_path("c"), dag.shortest_path("d")
        (['a', 'c'], ['a', 'b', 'd'])
        """
        return self._names_of(self.shortest_path_ids(self.index(name)))

    def ancestors(self, name: str) -> list[str]:
        """Return all names above the node, roots first."""
        return self._names_of(self.ids_above(self.index(name)))

    def children(self, name: str) -> list[str]:
        """Return the names of the children of the node."""
        return self._names_of(self.child_ids(self.index(name)))

    def parents_of(self, name: str) -> list[str]:
        """Return the names of the parents of the node: none at a root, perhaps several in a DAG."""
        return self._names_of(self.parent_ids(self.index(name)))

    def descendants(self, name: str) -> list[str]:
        """Return all names below the node."""
        return self._names_of(self.ids_below(self.index(name)))

    def siblings(self, name: str) -> list[str]:
        """Return the other children of the node's parents (for a root: the other roots)."""
        v = self.index(name)
        above = self.parent_ids(v).tolist() or [-1]
        among = np.unique(np.concatenate([self.child_ids(p) for p in above]))
        return self._names_of(u for u in among if u != v)

    def distance(self, u: str, v: str) -> int:
        """Return the number of edges between two nodes through their nearest common ancestor.

        Two nodes without a common ancestor, as in two trees of a forest, meet in the virtual root.
        """
        return int(self.distances(np.array([self.index(u)]), np.array([self.index(v)]))[0])

    def common_ancestor(self, u: str, v: str) -> str | None:
        """Return the nearest node at or above both; None if that is the virtual root.

        In a DAG the nearest is the one through which the fewest edges connect the two; among several, the deepest.
        """
        meet = int(self.common_ancestors(np.array([self.index(u)]), np.array([self.index(v)]))[0])
        return self.names[meet] if meet >= 0 else None

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield (parent, child) for every edge, children in the order of `names`.

        Examples
        --------
        >>> list(Taxonomy.from_paths(["a/b", "a/c"]).edges())
        [('a', 'b'), ('a', 'c')]
        """
        for p, c in zip(*self._edge_ids(), strict=True):
            yield self.names[p], self.names[c]

    def draft(self) -> Draft:
        """Return everything the taxonomy holds, to change it and build another one."""
        edges = self.parents.indptr.astype(np.int64), self.parents.indices.astype(np.int64)
        parts = list(self.parts) if self.parts else None
        draft = Draft(list(self.names), *edges, parts, self.sep, list(self.dropped_edges))
        draft.stop_leaves = self._stop_leaves
        return draft.with_texts(self._titles, self._descriptions, self._synonyms)

    def subtree(self, name: str) -> Taxonomy:
        """Return a node and all nodes below it, with the edges between them."""
        v = self.index(name)
        return transforms.keep_nodes(self, np.concatenate([[v], self.ids_below(v)]))

    def spanning_forest(self) -> Taxonomy:
        """Return the nodes with only the deepest parent of each: a tree or forest with the same levels.

        Examples
        --------
        >>> dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
        >>> list(dag.spanning_forest().edges())
        [('a', 'b'), ('b', 'c')]
        """
        return transforms.keep_with_parent(self, np.arange(self.n_nodes), self.deepest_parent)

    def contracted(self) -> Taxonomy:
        """Return the taxonomy without its single-child inner nodes; their children move up.

        In a DAG a child then hangs below the parents of the removed node, beside any others it has.

        Examples
        --------
        >>> Taxonomy.from_paths(["a/b/c", "a/b/d"]).contracted().names
        ('b', 'c', 'd')
        """
        return transforms.contract(self)

    def flattened(self, *, keep: Literal["nodes", "leaves"] = "nodes") -> Taxonomy:
        """Return the star that flat methods train on.

        Parameters
        ----------
        keep : {"nodes", "leaves"}
            "nodes" keeps every node, below the root label if there is one (Dekel et al. 2004);
            "leaves" keeps only the leaves (Gopal & Yang 2013). Measure errors on the original taxonomy.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["all/a/b", "all/c"])
        >>> taxonomy.flattened()
        Taxonomy(tree, 4 nodes, 3 leaves, depth 1)
        >>> taxonomy.flattened(keep="leaves").names
        ('c', 'b')
        """
        return transforms.flatten(self, keep)

    def with_stop_leaves(self, nodes: Iterable[str] | None = None) -> Taxonomy:
        """Return the taxonomy with a leaf ``<name>/*``, which stands for "stop here", below inner nodes.

        Parameters
        ----------
        nodes : iterable of str, optional
            The inner nodes that get a stop leaf, others are ignored; None: all inner nodes.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["a/b", "a/c"]).with_stop_leaves(["a"])
        >>> taxonomy.names, taxonomy.stop_leaves
        (('a', 'b', 'c', 'a/*'), {'a/*': 'a'})
        """
        return transforms.add_stop_leaves(self, nodes)

    def with_node(self, name: str, parent: str | None = None) -> Taxonomy:
        """Return the taxonomy with one more leaf; the other nodes keep their names.

        Parameters
        ----------
        name : str
            The name of the new leaf.
        parent : str, optional
            The node above it; None: a root.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "art"])
        >>> taxonomy.with_node("chess", "sport").names
        ('sport', 'art', 'tennis', 'chess')
        """
        return transforms.add_node(self, name, parent)

    def diff(self, new: Taxonomy, *, texts: Any = None, new_texts: Any = None) -> Crosswalk:
        """Propose the crosswalk from this taxonomy to a later version of it, each entry with evidence and confidence.

        Nodes are the same by name, then by title; an old leaf that is an inner node now is split into the leaves below
        it; what is left is linked by words, codes and places, inner nodes by the leaves below them.

        Parameters
        ----------
        new : Taxonomy
            The later version.
        texts, new_texts : mapping of str to sequence of str, or pair (texts, labels), optional
            The texts of rows, by the node of the old or of the new taxonomy that they are labelled with. Their words
            are compared as those of the nodes are.

        Returns
        -------
        Crosswalk
            The proposal; check entries of low confidence by hand.

        Examples
        --------
        >>> old = Taxonomy.from_parents({"12": None, "12.0": "12", "13": None}, titles={"13": "Fax machines"})
        >>> new = Taxonomy.from_parents({"12": None, "12.0": "12", "12.01": "12.0", "12.02": "12.0"})
        >>> print(old.diff(new))
        retire  13 Fax machines → nothing  (90% sure)
        split   12.0 → 12.01  (98% sure)
                     → 12.02  (98% sure)
        1 node of 3 is unchanged
        """
        from cladist.taxonomy.revisions.proposal import propose

        if not isinstance(new, Taxonomy):
            raise TaxonomyError(f"Taxonomy.diff compares with another Taxonomy; got {type(new).__name__}.")
        return propose(self, new, texts=texts, new_texts=new_texts)

    @property
    def stop_leaves(self) -> dict[str, str]:
        """The stop leaves added by `with_stop_leaves`, each with the inner node that it stands for."""
        return dict(self._stop_leaves)

    def __getstate__(self) -> dict[str, Any]:
        stored = ("names", "parents", "depth", "dropped_edges", "parts", "sep", "_stop_leaves")
        return {name: self.__dict__[name] for name in (*stored, "_titles", "_descriptions", "_synonyms")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze(self.depth)
        freeze_matrix(self.parents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        if self is other or self.names != other.names:
            return self is other
        mine, theirs = self.parents, other.parents
        return np.array_equal(mine.indptr, theirs.indptr) and np.array_equal(mine.indices, theirs.indices)

    @cached_property
    def _hash(self) -> int:
        # As Python integers, because equal taxonomies may hold them in arrays of different width.
        return hash((self.names, tuple(self.parents.indices.tolist())))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        counts = [(self.n_nodes, "node", "nodes"), (len(self.leaves), "leaf", "leaves")]
        counts += [(self.n_edges, "edge", "edges")] if self.kind == "dag" else []
        counts += [(len(self.roots), "root", "roots")] if len(self.roots) > 1 else []
        shown = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)
        return f"Taxonomy({self.kind}, {shown}, depth {self.depth[-1]})"

    def __str__(self) -> str:
        return inspection.draw(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per node: its name, parent, level, path and title.

        In a DAG, ``parent`` is a list of names.

        Examples
        --------
        >>> Taxonomy.from_paths(["a/b", "a/c"]).to_frame()[["node", "level"]]
          node  level
        0    a      0
        1    b      1
        2    c      1
        """
        ids = range(self.n_nodes)
        above = [[self.names[p] for p in self.parent_ids(v)] for v in ids]
        parents: list[Any] = above if self.kind == "dag" else [row[0] if row else None for row in above]
        columns = {"node": list(self.names), "parent": parents, "level": self.depth.tolist()}
        paths = [list(self.shortest_path_parts(v)) for v in ids]
        return frame(columns | {"path": paths, "title": [self.titles.get(name, "") for name in self.names]})

    def _repr_html_(self) -> str:
        return html_tree(repr(self), self.roots.tolist(), lambda v: self.child_ids(v).tolist(), self._shown)

    def _shown(self, v: int) -> str:
        name = self.names[v] if self.parts is None else self.parts[v]
        title = self.titles.get(self.names[v], "")
        return f"{name}  {title}" if title else name


def as_taxonomy(value: Any) -> Taxonomy:
    """Return a `Taxonomy`, built from a mapping, edges, a networkx graph or a file's path unless `value` is one.

    Parameters
    ----------
    value : Taxonomy, mapping, sequence of edges, networkx graph or path
        The taxonomy, or the object to build it from.

    Examples
    --------
    >>> as_taxonomy([("a", "b"), ("a", "c")])
    Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
    """
    if isinstance(value, Taxonomy):
        return value
    if isinstance(value, Mapping):
        return Taxonomy.from_parents(value)
    if isinstance(value, (str, PathLike)):
        return Taxonomy.read(value)
    if hasattr(value, "is_directed"):
        return Taxonomy.from_networkx(value)
    if isinstance(value, Iterable):
        return Taxonomy.from_edges(value)
    raise TaxonomyError(
        "taxonomy must be a Taxonomy, a mapping of child to parent, (parent, child) edges or the path of a file; "
        f"got {type(value).__name__}."
    )
