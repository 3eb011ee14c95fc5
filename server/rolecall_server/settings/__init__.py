"""What can be set: the table, and how it is read."""

from rolecall_server.settings.reading import (
    SettingRow,
    read_editor_settings,
    read_settings,
    setting_rows,
    with_defaults,
)
from rolecall_server.settings.table import BudgetSettings, ModelSettings, NavigationSettings, Settings, StrategyName

__all__ = [
    "BudgetSettings",
    "ModelSettings",
    "NavigationSettings",
    "SettingRow",
    "Settings",
    "StrategyName",
    "read_editor_settings",
    "read_settings",
    "setting_rows",
    "with_defaults",
]
