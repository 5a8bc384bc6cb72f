import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { FieldChanges } from '../history/field-changes.tsx'
import { Notice } from '../components/notice.tsx'
import { errorText } from '../data/api-error.ts'
import { getJson } from '../data/api-request.ts'
import { objectPath } from '../data/api-resource.ts'
import { withResourceVersion } from './manifest-text.ts'
import { changesBetween } from './review-dialog.tsx'
import { lastFieldManagerOf, saveManifest, type Manifest } from './save-manifest.ts'

export interface ConflictNoticeProps {
  readonly manifest: Manifest
  /** The edited text, based on an older version. */
  readonly text: string
  readonly onReload: () => void
  /** Saves a text over the current version. */
  readonly onForce: (text: string) => Promise<void>
}

/** The object was changed meanwhile: nothing was saved, and the user chooses. */
export function ConflictNotice({ manifest, text, onReload, onForce }: ConflictNoticeProps): JSX.Element {
  const [theirs, setTheirs] = useState<KubernetesObject>()
  const [mine, setMine] = useState<KubernetesObject>()
  const [message, setMessage] = useState('')
  const path = objectPath(manifest.resource, manifest.object)
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    try {
      await action()
    } catch (error) {
      setMessage(errorText(error))
    }
  }
  useEffect(() => {
    void attempt(async () => setTheirs(await getJson<KubernetesObject>(path)))
  }, [path])
  const forced = withResourceVersion(text, theirs?.metadata.resourceVersion ?? '')
  const compare = async (): Promise<void> => {
    const result = await saveManifest(manifest, forced ?? text, { isDryRun: true })
    if (result.type === 'saved') setMine(result.object)
    else setMessage(result.message)
  }
  return (
    <Notice
      tone="warn"
      title={`Changed meanwhile by ${theirs ? lastFieldManagerOf(theirs) : 'another client'}; nothing was saved`}
      detail={message}
    >
      <button type="button" class="button" onClick={onReload}>
        Discard mine and reload
      </button>
      <button type="button" class="button" disabled={!theirs} onClick={() => void attempt(compare)}>
        Show differences
      </button>
      <button
        type="button"
        class="button is-danger"
        disabled={!theirs || forced === undefined}
        onClick={() => void attempt(async () => onForce(forced ?? text))}
      >
        Overwrite theirs
      </button>
      {theirs && mine ? (
        <>
          <p class="detail">What overwriting would change in the current version:</p>
          <FieldChanges changes={changesBetween(theirs, mine)} />
        </>
      ) : null}
    </Notice>
  )
}
