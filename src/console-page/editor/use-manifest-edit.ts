import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { errorText } from '../data/api-error.ts'
import { resourceId } from '../data/api-resource.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { announce } from '../shell/announce.tsx'
import { readManifest, saveManifest, type Manifest, type SaveResult } from './save-manifest.ts'

export interface ManifestEdit {
  readonly manifest: Manifest
  /** The text of the server that the edited text began with; undefined until it is read. */
  readonly original: { readonly text: string } | undefined
  readonly text: string
  readonly isChanged: boolean
  /** Of the latest request; undefined after a change of the original. */
  readonly result: SaveResult | undefined
  readonly isReviewing: boolean
  /** Why a request failed without an answer to it; empty if none did. */
  readonly message: string
  readonly edit: (text: string) => void
  readonly reload: () => void
  readonly validate: () => void
  /** Validates, and then shows what would change. */
  readonly review: () => void
  readonly cancelReview: () => void
  readonly apply: (text: string) => Promise<void>
}

/** Editing of one manifest. While nothing is changed, the text follows the object. */
export function useManifestEdit({ resource, object, isDeleted }: ObjectTabProps): ManifestEdit {
  const { name = '', namespace = '', uid = '', resourceVersion } = object.metadata
  const manifest: Manifest = { resource, object: { namespace, name } }
  const original = useSignal<ManifestEdit['original']>(undefined)
  const text = useSignal('')
  const result = useSignal<SaveResult | undefined>(undefined)
  const isReviewing = useSignal(false)
  const message = useSignal('')
  /** Counts reads, of which only the latest has an effect. */
  const reads = useRef(0)
  const isChanged = (): boolean => original.value !== undefined && text.value !== original.value.text
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    try {
      await action()
      message.value = ''
    } catch (error) {
      message.value = errorText(error)
    }
  }
  const load = async (mayDiscard: boolean): Promise<void> =>
    attempt(async () => {
      const read = ++reads.current
      const found = await readManifest(manifest)
      // The user may have begun to type meanwhile.
      if (read !== reads.current || (isChanged() && !mayDiscard)) return
      original.value = { text: found }
      text.value = found
      result.value = undefined
    })
  useEffect(() => {
    if (!isChanged() && !isDeleted) void load(false)
  }, [resourceId(resource), uid, resourceVersion, isDeleted])
  const save = async (saved: string, isDryRun: boolean): Promise<boolean> => {
    result.value = await saveManifest(manifest, saved, { isDryRun })
    return result.value.type === 'saved'
  }
  return {
    manifest,
    original: original.value,
    text: text.value,
    isChanged: isChanged(),
    result: result.value,
    isReviewing: isReviewing.value,
    message: message.value,
    edit: edited => (text.value = edited),
    reload: () => void load(true),
    validate: () =>
      void attempt(async () => {
        if (await save(text.peek(), true)) announce('The server accepts the manifest')
      }),
    review: () =>
      void attempt(async () => {
        isReviewing.value = await save(text.peek(), true)
      }),
    cancelReview: () => (isReviewing.value = false),
    apply: async applied => {
      isReviewing.value = false
      await attempt(async () => {
        if (!(await save(applied, false))) return
        announce(`${resource.kind} ${name} is saved`)
        await load(true)
      })
    },
  }
}
