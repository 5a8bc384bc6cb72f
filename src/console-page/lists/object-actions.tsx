import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { ApiResource, ObjectKey } from '../data/api-resource.ts'
import { useKeys, type KeyBinding } from '../keyboard/key-bindings.ts'
import { objectTabs } from '../object-tabs.ts'
import { hrefOfObject, navigate } from '../router/router.ts'
import { DeleteDialog } from './delete-dialog.tsx'

/** Binds the keys that act on an object. Returns the dialog that is open, if any. */
export function useObjectActions(
  resource: ApiResource,
  selected: () => ObjectKey | undefined,
  whenDeleted?: () => void,
): JSX.Element | null {
  const deleting = useSignal<ObjectKey | undefined>(undefined)
  const openTab = (tab: string): void => {
    const key = selected()
    if (key) navigate(hrefOfObject(resource, key, { tab }))
  }
  const tabKeys = objectTabs
    .filter(tab => tab.keys !== '' && tab.appliesTo(resource))
    .map(({ name, title, keys }): KeyBinding => ({ keys, title, run: () => openTab(name) }))
  const canEdit = resource.verbs.includes('update')
  const canDelete = resource.verbs.includes('delete')
  useKeys([
    ...tabKeys,
    ...(canEdit ? [{ keys: 'e', title: 'Edit', run: () => openTab('edit') }] : []),
    ...(canDelete ? [{ keys: 'ctrl-d', title: 'Delete', run: () => (deleting.value = selected()) }] : []),
  ])
  const key = deleting.value
  if (key === undefined) return null
  return (
    <DeleteDialog
      resource={resource}
      object={key}
      onClose={() => (deleting.value = undefined)}
      onDeleted={whenDeleted}
    />
  )
}
