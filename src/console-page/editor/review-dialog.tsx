import type { JSX } from 'preact'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { diffObjects, type FieldChange } from '#/history/diff-objects.ts'
import { FieldChanges } from '../history/field-changes.tsx'
import { Modal } from '../shell/modal.tsx'

export interface ReviewDialogProps {
  readonly before: KubernetesObject
  /** What the server would store, with defaults and changes by admission. */
  readonly after: KubernetesObject
  readonly onApply: () => void
  readonly onClose: () => void
}

/** What would change, as a dry run on the server says. */
export function ReviewDialog({ before, after, onApply, onClose }: ReviewDialogProps): JSX.Element {
  const changes = changesBetween(before, after)
  return (
    <Modal label="Review changes" class="review-modal" onClose={onClose}>
      <h2>{changes.length === 1 ? 'One field changes' : `${changes.length} fields change`}</h2>
      <div class="review-changes">
        <FieldChanges changes={changes} />
      </div>
      <div class="modal-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="button is-primary"
          autofocus
          disabled={changes.length === 0}
          onClick={onApply}
        >
          Apply
        </button>
      </div>
    </Modal>
  )
}

/** Without what the server counts. Objects of lists have neither kind nor API version. */
export function changesBetween(before: KubernetesObject, after: KubernetesObject): readonly FieldChange[] {
  const { kind, apiVersion } = after
  const changes = diffObjects(
    { kind, apiVersion, ...before } as unknown as JsonValue,
    after as unknown as JsonValue,
  )
  return changes.filter(({ path }) => path !== 'metadata.generation')
}
