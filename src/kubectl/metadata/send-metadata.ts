import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { Factory } from '../factory.ts'
import { locationOf, type Info } from '../resource/info.ts'
import type { DryRun } from '../write-flags.ts'
import { metadataPatch } from './metadata-changes.ts'
import type { metadataFlags } from './metadata-flags.ts'

export interface ChangedMetadata {
  /** With the object as it was read. */
  readonly info: Info
  /** With the changed labels or annotations. */
  readonly object: JsonObject
  readonly dryRun: DryRun
  readonly flags: FlagValues<ReturnType<typeof metadataFlags>>
  /** `kubectl-label`. */
  readonly fieldManager: string
}

/** Patches only what has changed, if the object still has the version of `--resource-version`. */
export async function sendMetadata(factory: Factory, changed: ChangedMetadata): Promise<JsonObject> {
  const { info, object, dryRun, flags, fieldManager } = changed
  const patch = metadataPatch(info.object ?? {}, object) ?? {}
  const version = flags['resource-version']
  const body = version
    ? { metadata: { ...(isObject(patch['metadata']) && patch['metadata']), resourceVersion: version } }
    : patch
  const resources = await factory.resources()
  return resources.patch(
    locationOf(info),
    { type: 'merge', body: JSON.stringify(body) },
    { dryRun: dryRun === 'server', fieldManager: flags['field-manager'] ?? fieldManager },
  )
}
