"""The project's settings with values from environment variables, as is usual in a container.

With ``SCRAPY_SETTINGS_MODULE=webcrawl.environment`` an environment variable ``WEBCRAWL_NAME`` is the setting
``NAME``, written as after ``-s NAME=``, for every command of the project. An empty one is ignored, and ``-s`` has
priority over both. The key that signs requests, WEBCRAWL_IDENTITY_KEY, is no setting: Scrapy would print it.
"""

import os
import sys

from webcrawl import config, settings
from webcrawl.config import display, identity, vocabulary

# In lower case: Scrapy takes names in capitals here for settings.
prefix = "WEBCRAWL_"
variables = {
    name.removeprefix(prefix): value
    for name, value in os.environ.items()
    if name.startswith(prefix) and value and name != identity.KEY_VARIABLE
}
known = {setting.name for setting in config.SETTINGS}
prefixes = variables["SETTINGS_PREFIXES"].split(",") if "SETTINGS_PREFIXES" in variables else display.PACKAGES
problems = list(vocabulary.unknown_names(variables, known, tuple(prefixes)))
if problems:
    sys.stderr.writelines(f"scrapy: {prefix}{problem}\n" for problem in problems)
    sys.exit(2)

globals().update({name: value for name, value in vars(settings).items() if name.isupper()} | variables)
