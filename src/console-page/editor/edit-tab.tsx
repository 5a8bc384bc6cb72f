import type { JSX } from 'preact'
import { Notice } from '../components/notice.tsx'
import type { ObjectTabProps } from '../object-tabs.ts'
import { CodeEditor, type LineProblem } from './code-editor.tsx'
import { ConflictNotice } from './conflict-notice.tsx'
import { ReviewDialog } from './review-dialog.tsx'
import { useManifestEdit, type ManifestEdit } from './use-manifest-edit.ts'
import { useSchema } from './use-schema.ts'

const noProblems: readonly LineProblem[] = []

/** The manifest of the object: completion from its schema, validation by the server, review before it is applied. */
export function EditTab(props: ObjectTabProps): JSX.Element {
  const { resource, object, isDeleted } = props
  const edit = useManifestEdit(props)
  const schema = useSchema(resource)
  const { manifest, original, text, result, message } = edit
  const canEdit = resource.verbs.includes('update') && !isDeleted
  const refusal = result?.type === 'refused' ? result : undefined
  return (
    <div class="edit-tab">
      <EditToolbar edit={edit} canEdit={canEdit} />
      {message === '' ? null : (
        <Notice tone="bad" title="The manifest could not be read or sent" detail={message} />
      )}
      {refusal ? (
        <Notice tone="bad" title="The server refuses the manifest" detail={refusal.message} />
      ) : null}
      {result?.type === 'conflict' ? (
        <ConflictNotice manifest={manifest} text={text} onReload={edit.reload} onForce={edit.apply} />
      ) : null}
      {original === undefined ? null : (
        <CodeEditor
          label={`Manifest of ${object.metadata.name}`}
          original={original}
          onInput={edit.edit}
          problems={refusal?.problems ?? noProblems}
          schema={schema}
          isReadOnly={!canEdit}
        />
      )}
      {edit.isReviewing && result?.type === 'saved' ? (
        <ReviewDialog
          before={object}
          after={result.object}
          onApply={() => void edit.apply(text)}
          onClose={edit.cancelReview}
        />
      ) : null}
    </div>
  )
}

interface EditToolbarProps {
  readonly edit: ManifestEdit
  readonly canEdit: boolean
}

function EditToolbar({ edit, canEdit }: EditToolbarProps): JSX.Element {
  const { isChanged, validate, review, reload } = edit
  return (
    <div class="toolbar">
      <button type="button" class="button" disabled={!isChanged} onClick={validate}>
        Validate
      </button>
      <button type="button" class="button is-primary" disabled={!isChanged || !canEdit} onClick={review}>
        Review and apply
      </button>
      <button type="button" class="button" disabled={!isChanged} onClick={reload}>
        Discard changes
      </button>
      <p class="detail">
        {isChanged ? 'Changed here, not applied' : canEdit ? 'Ctrl-Space completes' : 'Read only'}
      </p>
    </div>
  )
}
