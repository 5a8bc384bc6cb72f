import { equalJson } from '#/api/text/json-value.ts'
import { canonicalFile, entryKeys } from './canonical-entry.ts'
import type { ClusterEntry, ContextEntry, KubeconfigFile, UserEntry } from './file-format.ts'
import type { LoadedFile } from './merge.ts'

/** An edit of the merged configuration; an entry without a value is removed. */
export type KubeconfigEdit =
  | { readonly section: 'clusters'; readonly name: string; readonly value: ClusterEntry | undefined }
  | {
      readonly section: 'contexts'
      readonly name: string
      readonly value: ContextEntry | undefined
      /** For a new entry, instead of the default file. */
      readonly file?: string
    }
  | { readonly section: 'users'; readonly name: string; readonly value: UserEntry | undefined }
  | { readonly section: 'current-context'; readonly value: string }

/**
 * Plans the file writes for an edit. Existing entries are changed in the file that has them; new entries go
 * into the default file. Everything else in the files is preserved.
 */
export function planKubeconfigWrites(
  files: readonly LoadedFile[],
  newEntriesFile: string,
  edits: readonly KubeconfigEdit[],
): readonly LoadedFile[] {
  const before = new Map(files.map(({ path, content }) => [path, content]))
  const after = new Map(before)
  for (const edit of edits) {
    const home = [...after].find(([, content]) => holds(content, edit))?.[0] ?? fileOf(edit) ?? newEntriesFile
    after.set(home, edited(after.get(home) ?? empty, edit))
  }
  return [...after]
    .filter(([path, content]) => !equalJson(content, before.get(path)))
    .map(([path, content]) => ({ path, content: canonicalFile(content) }))
}

function fileOf(edit: KubeconfigEdit): string | undefined {
  return edit.section === 'contexts' ? edit.file : undefined
}

const empty: KubeconfigFile = {}

function holds(content: KubeconfigFile, edit: KubeconfigEdit): boolean {
  if (edit.section === 'current-context') return Boolean(content['current-context'])
  return content[edit.section]?.some(({ name }) => name === edit.name) ?? false
}

function edited(content: KubeconfigFile, edit: KubeconfigEdit): KubeconfigFile {
  if (edit.section === 'current-context') return { ...content, 'current-context': edit.value }
  const entries: readonly { readonly name?: string }[] = content[edit.section] ?? []
  if (edit.value === undefined) {
    return { ...content, [edit.section]: entries.filter(({ name }) => name !== edit.name) }
  }
  const entry = { name: edit.name, [entryKeys[edit.section]]: edit.value }
  const isThere = entries.some(({ name }) => name === edit.name)
  const others = entries.map(each => (each.name === edit.name ? entry : each))
  return { ...content, [edit.section]: isThere ? others : [...others, entry] }
}
