import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Notice } from '../components/notice.tsx'
import { errorText } from '../data/api-error.ts'
import { sendJson } from '../data/api-request.ts'
import { objectPath, type ApiResource, type ObjectKey } from '../data/api-resource.ts'
import { announce } from '../shell/announce.tsx'
import { Modal } from '../shell/modal.tsx'

export interface DeleteDialogProps {
  readonly resource: ApiResource
  readonly object: ObjectKey
  readonly onClose: () => void
  readonly onDeleted?: (() => void) | undefined
}

const policies = ['Background', 'Foreground', 'Orphan'] as const

/** Asks before an object is deleted. The focus begins on Cancel. */
export function DeleteDialog({ resource, object, onClose, onDeleted }: DeleteDialogProps): JSX.Element {
  const policy = useSignal<string>('Background')
  const message = useSignal('')
  const isBusy = useSignal(false)
  const remove = async (): Promise<void> => {
    isBusy.value = true
    try {
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: policy.peek() }
      await sendJson(objectPath(resource, object), options, { method: 'DELETE' })
      announce(`${resource.kind} ${object.name} is being deleted`)
      onClose()
      onDeleted?.()
    } catch (error) {
      message.value = errorText(error)
      isBusy.value = false
    }
  }
  return (
    <Modal label={`Delete ${resource.kind}`} onClose={onClose}>
      <h2>Delete {resource.kind}?</h2>
      <p>
        <strong class="object-name">{object.name}</strong>
        {object.namespace === '' ? null : <> in namespace {object.namespace}</>}
      </p>
      <label class="field">
        Dependents
        <select value={policy.value} onChange={event => (policy.value = event.currentTarget.value)}>
          {policies.map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {message.value === '' ? null : <Notice tone="bad" title="Not deleted" detail={message.value} />}
      <div class="modal-actions">
        <button type="button" class="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button is-danger" disabled={isBusy.value} onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </Modal>
  )
}
