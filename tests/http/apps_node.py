"""The applications of Node's frameworks, beside the packages that prepare_node.sh installs."""

from __future__ import annotations

from apps import App


def of_node(name: str, program: str) -> App:
    return App(name, ["node", f"build/http-node/{name}/{program}"], ["tests/http/prepare_node.sh", name])


APPS = [
    of_node("express", "express.mjs"),
    of_node("fastify", "fastify.mjs"),
    of_node("koa", "koa.mjs"),
    of_node("nestjs", "dist/main.js"),
]
