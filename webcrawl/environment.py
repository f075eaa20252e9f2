"""The project's settings where files are awkward and variables are not, as in a container.

With ``SCRAPY_SETTINGS_MODULE=webcrawl.environment`` an environment variable ``WEBCRAWL_NAME`` is the setting
``NAME``, written as after ``-s NAME=``, for every command of the project. An empty one counts as not given, and
``-s`` wins over both.
"""

import os
import sys

from webcrawl import config, settings
from webcrawl.config import vocabulary

# In lower case: what stands here in capitals is a setting for Scrapy.
prefix = "WEBCRAWL_"
given = {
    name.removeprefix(prefix): value
    for name, value in os.environ.items()
    if name.startswith(prefix) and value
}
problems = list(vocabulary.unknown_names(given, {setting.name for setting in config.SETTINGS}))
if problems:
    sys.stderr.writelines(f"scrapy: {prefix}{problem}\n" for problem in problems)
    sys.exit(2)

globals().update({name: value for name, value in vars(settings).items() if name.isupper()} | given)
