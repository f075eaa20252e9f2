"""Dockerfile and compose.yaml in a real engine, judged by the log of a web that runs beside the workers.

``python -m tests.gauntlet.containers`` (``make compose-test``) builds the image, crawls with three workers, scales to
five, freezes one, kills one, goes ``down`` and ``up`` again with two, and looks at health checks, rights and limits,
at the dashboard of the shared crawl, and at a service. It needs Docker or Podman; on Debian, as root, it
installs Podman and makes the base images itself where no registry of images can be reached.

    engine.py     the engine, its base images, and compose
    web.py        the web: hosts with pages that link to each other, and a log; runs in a container beside the workers
    scenario.py   what is laid over compose.yaml, what is done, and what is judged
"""
