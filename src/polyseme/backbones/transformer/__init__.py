"""Encoders of texts, fine-tuned to find clusters; the linear matcher on what they make.

`encoders` reads transformers and static tables, `finetuning` trains an encoder level by level,
`onnx_export` makes a graph of one for ONNX Runtime, which `onnx_encoder` computes,
`embedding_store` keeps embeddings on disk, `features` puts them beside TF-IDF, and `matcher` is
the linear matcher on both.
"""
