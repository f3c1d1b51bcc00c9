"""AttentionXML: a BiLSTM, and an attention of its own for every cluster and every label in it."""

from __future__ import annotations

from typing import ClassVar

from polyseme.estimators.reading_texts import ReadingClassifier

__all__ = ["AttentionXML"]


class AttentionXML(ReadingClassifier):
    """Labels for texts by a BiLSTM with multi-label attention, level by level on a wide tree.

    A BiLSTM reads the words of a text, and each cluster of labels attends to the words that matter
    to it (You et al., 2019). A second network, which goes on from the first, does the same for the
    labels in the clusters that were found. With ``copies=2`` a label may be in two clusters and
    attend to other words in each. Needs texts beside features: use it within a `TextModel`. Needs
    the extra ``transformer``; see docs/attention.md.

    Parameters
    ----------
    copies : int, default=1
        In how many clusters a label may be at most (the paper's lambda). With 1, labels are not
        re-assigned, whatever `rounds` says.
    beam_size : int, default=10
        How many clusters a document is matched to, and nodes of levels above that have a network.
    rounds : int, default=1
        How often labels are re-assigned to clusters and the matcher tuned to them.
    assignment : str, default='capped'
        How slots are chosen: 'closed_form' (the paper's Eq. 10), 'coverage', 'capped' (the
        paper's balanced variant), 'random', 'adaptive' or 'strongest' (ELIAS' choice); see
        `polyseme.assignment`.
    max_cluster_size : int, optional
        Most labels in a cluster for 'capped', 'adaptive' and 'strongest'; by default three times
        the mean (more with more than two copies).
    match_folds : int, default=0
        With k of at least 2, documents are split at random into k parts, and where training asks
        which clusters a document is matched to, a matcher answers that was trained on the other
        parts, which takes another training each. 0: the matcher that was trained on it itself.
    branching : int, default=512
        Most children of a node of the tree.
    max_leaf_size : int, default=32
        Most labels in a cluster of the tree, before re-assignment.
    tree : str, default='balanced'
        How labels are grouped at first: 'balanced' (by likeness, into equal halves again and
        again), 'parabel' (the same, with room for labels that have documents), 'k-means' (by
        likeness, wide and uneven), 'bonsai' (the same, shallow), 'huffman' (by frequency) or
        'random'; see docs/trees.md. A `hierarchy` that `fit` is given comes in its place.
    tree_features : str, default='documents'
        What labels are alike by: the features of their 'documents', half of these ('sampled'), the
        labels that go with them ('co-occurrence'), documents and labels side by side ('both'), or
        'varied', which is 'documents' here.
    training_rows : str, default='both'
        The documents a slot is trained on: those whose labels are in its cluster
        ('teacher-forcing'), those that the matcher sends there ('matcher-aware'), or 'both'.
    n_words : int, default=200
        Words of a text that are read, from its beginning.
    vocabulary_size : int, default=50000
        Most different words that are known, those that are in most texts.
    word_vectors : str, default='co-occurrence'
        What word vectors begin with: 'co-occurrence' of words in the training texts, 'random', or
        a file with a word and its numbers per line, such as GloVe's. All are trained further.
    n_dimensions : int, default=100
        Length of a word vector; a file of vectors has its own.
    n_hidden : int, default=96
        States of the LSTM in each direction.
    dropout : float, default=0.2
        Share of the dimensions that a document leaves out in training.
    n_epochs : int, default=5
        Passes over the documents of the first network; one that goes on from another has half.
    batch_size : int, default=16
        Documents of a step.
    learning_rate : float, default=0.005
        Of the optimiser, at its height.
    device : str, default='auto'
        Where networks compute: 'cpu', 'cuda', ..., or 'auto': a GPU if there is one.
    work_folder : str, optional
        Where checkpoints are kept, so that a training that was stopped goes on, and one that was
        finished is not done again. By default nothing is kept.
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    ordering : str, default='product'
        'product' leaves the bare product of scores; 'learned' puts a document's best labels in an
        order that is learned from training documents held out for that, with scores that are
        probabilities, which takes another training, in haste.
    merge : str, default='sum'
        How scores of a label's reached slots become one: 'sum', 'mean' (the paper) or 'max'.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the tree, of the networks and of the order in which documents are visited. The same
        one gives the same model on a CPU.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

    Examples
    --------
    >>> from polyseme import AttentionXML, TextModel
    >>> model = TextModel(classifier=AttentionXML(copies=2, n_epochs=10))
    """

    kind: ClassVar[str] = "attention-xml"
    network: ClassVar[str] = "attention"
