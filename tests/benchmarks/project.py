"""The repository of the token benchmark: a mobile application, its standards, a task, and the work on it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from benchmarks.standards import standards

TASK = "TASK-0824"
_TASK_FILE = "TASK-0824-settings-state.task.yaml"
_SETTINGS = (
    ("theme", "z.enum(['light', 'dark', 'system'])", "'system'"), ("language", "z.string()", "'en'"),
    ("exportQuality", "z.number().int().min(1).max(100)", "85"),
    ("exportFormat", "z.enum(['jpeg', 'png', 'webp'])", "'jpeg'"), ("autoSave", "z.boolean()", "true"),
    ("keepOriginals", "z.boolean()", "true"), ("wifiOnly", "z.boolean()", "true"),
    ("watermark", "z.boolean()", "false"), ("hapticFeedback", "z.boolean()", "true"),
    ("gridOverlay", "z.boolean()", "false"),
)  # fmt: skip
_BEFORE = {
    "mobile/src/upload/settingsCache.ts": """\
export const settingsCache = {
@  NAME: DEFAULT,
};
""",
    "mobile/src/upload/queueSettings.ts": """\
import { settingsCache } from './settingsCache';

export function qualityOfNextUpload(): number {
  return settingsCache.exportQuality;
}
""",
    "mobile/src/screens/SettingsScreen.tsx": """\
import AsyncStorage from '@react-native-async-storage/async-storage';
import { settingsCache } from '../upload/settingsCache';

export function SettingsScreen() {
@  const [NAME, setNAME] = useState(settingsCache.NAME);
  useEffect(() => {
@    settingsCache.NAME = NAME;
    void AsyncStorage.setItem('settings', JSON.stringify(settingsCache));
  });
  return <SettingsList values={settingsCache} />;
}
""",
    "mobile/src/store/index.ts": """\
export const store = configureStore({
  reducer: { gallery: galleryReducer },
});
""",
}
_IMPLEMENTED = {
    "mobile/src/upload/queueSettings.ts": """\
import { store } from '../store';
import { selectExportQuality } from '../store/settingsSelectors';

export function qualityOfNextUpload(): number {
  return selectExportQuality(store.getState());
}
""",
    "mobile/src/screens/SettingsScreen.tsx": """\
import { useSelector } from 'react-redux';
import { selectSettings } from '../store/settingsSelectors';

export function SettingsScreen() {
  const values = useSelector(selectSettings);
  return <SettingsList values={values} />;
}
""",
    "mobile/src/store/index.ts": """\
import { settingsReducer } from './settingsSlice';

export const store = configureStore({
  reducer: { gallery: galleryReducer, settings: settingsReducer },
});
""",
    "mobile/src/store/settingsSchema.ts": """\
import { z } from 'zod';

export const settingsSchema = z.object({
@  NAME: KIND.default(DEFAULT),
});

export type Settings = z.infer<typeof settingsSchema>;
export type Locks = Partial<Record<keyof Settings, string>>;
""",
    "mobile/src/store/settingsSlice.ts": """\
import { createSlice, type PayloadAction } from '@reduxjs/toolkit';
import { settingsSchema, type Locks, type Settings } from './settingsSchema';

const slice = createSlice({
  name: 'settings',
  initialState: { values: settingsSchema.parse({}), locks: {} as Locks },
  reducers: {
    locked(state, action: PayloadAction<Locks>) {
      state.locks = action.payload;
    },
@    NAMEChanged(state, action: PayloadAction<Settings['NAME']>) {
@      if (state.locks.NAME !== undefined) return;
@      state.values.NAME = action.payload;
@    },
  },
});

export const settingsReducer = slice.reducer;
""",
    "mobile/src/store/settingsSelectors.ts": """\
import type { RootState } from './index';

export const selectSettings = (state: RootState) => state.settings.values;
@export const select_NAME = (state: RootState) => state.settings.values.NAME;
""",
    "mobile/src/storage/migrations/settings.ts": """\
import { settingsSchema, type Settings } from '../../store/settingsSchema';
import { report } from '../../telemetry';

/** Takes over what lies in storage, field by field; a field that does not validate falls back to its default. */
export function migrateSettings(stored: Record<string, unknown>): Settings {
  const values = settingsSchema.parse({});
  for (const key of Object.keys(settingsSchema.shape) as (keyof Settings)[]) {
    const parsed = settingsSchema.shape[key].safeParse(stored[key]);
    if (parsed.success) {
      Object.assign(values, { [key]: parsed.data });
    } else {
      report('settings.fallback', { field: key, schema: 1 });
    }
  }
  return values;
}
""",
}
_REVIEWED = """\
import type { RootState } from './index';
import type { Settings } from './settingsSchema';

export const selectSettings = (state: RootState) => state.settings.values;
export const selectLock = (state: RootState, key: keyof Settings) => state.settings.locks[key];
@export const select_NAME = (state: RootState) => state.settings.values.NAME;
"""
QA_LOG = """\
> pnpm turbo run lint:fix --filter=photoeditor-mobile
photoeditor-mobile:lint:fix: 0 errors, 0 warnings
> pnpm turbo run typecheck --filter=photoeditor-mobile
photoeditor-mobile:typecheck: Found 0 errors.
> pnpm turbo run qa:static --filter=photoeditor-mobile
photoeditor-mobile:qa:static: no dependency violations found (412 modules, 1173 dependencies cruised)
photoeditor-mobile:qa:static: complexity: 0 functions above 10
> pnpm turbo run test --filter=photoeditor-mobile -- --coverage
PASS __tests__/settings/slice.test.ts
PASS __tests__/settings/selectors.test.ts
PASS __tests__/settings/migration.test.ts
PASS __tests__/settings/queue.test.ts
Test Suites: 58 passed, 58 total
Tests:       412 passed, 412 total
Snapshots:   31 passed, 31 total
All files             |   81.4 |    66.2 |   79.8 |   81.9 |
 settingsSchema.ts    |    100 |     100 |    100 |    100 |
 settingsSlice.ts     |   96.1 |    88.4 |    100 |   96.0 |
 settingsSelectors.ts |    100 |     100 |    100 |    100 |
> pnpm turbo run bundle:size --filter=photoeditor-mobile
photoeditor-mobile:bundle:size: 1834.2 KiB gzipped, +2.1 KiB against main (limit +4.0 KiB)
"""


def task_text() -> str:
    """Return the task file, which is written by hand, as people write them."""
    return Path(__file__).with_name(_TASK_FILE).read_text()


def files_before() -> dict[str, str]:
    """Return the repository as the task finds it, by path."""
    return {f"tasks/{_TASK_FILE}": task_text(), ".gitignore": "*.log\n", **standards(), **_filled(_BEFORE)}


def files_implemented() -> dict[str, str]:
    """Return what the implementer writes; it deletes `settingsCache.ts`."""
    return _filled(_IMPLEMENTED)


def files_reviewed() -> dict[str, str]:
    """Return what the reviewer mends itself."""
    return _filled({"mobile/src/store/settingsSelectors.ts": _REVIEWED})


def _filled(templates: Mapping[str, str]) -> dict[str, str]:
    """Repeat lines that stand together and begin with an at sign for each setting."""
    found = {}
    for path, template in templates.items():
        text = ""
        for repeated, group in itertools.groupby(template.splitlines(keepends=True), lambda line: line[0] == "@"):
            lines = "".join(line.removeprefix("@") for line in group)
            for name, kind, default in _SETTINGS if repeated else _SETTINGS[:1]:
                text += lines.replace("NAME", name).replace("KIND", kind).replace("DEFAULT", default)
        found[path] = text
    return found
