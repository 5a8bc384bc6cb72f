import { resolve } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Machine } from '../factory.ts'
import type { AnyContainer } from '../pods/containers.ts'
import { readFileContent } from '../read-file-content.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'

const bytesMax = 1024 * 1024

/** Reads a partial container from a file in JSON or YAML. Throws Error. */
export async function readCustomProfile(
  { platform, workingFolder }: Machine,
  path: string,
): Promise<JsonObject> {
  const { parseYaml } = await import('#/api/text/yaml.ts')
  const content = await readFileContent(platform.files, {
    path,
    absolute: resolve(workingFolder, path),
  }).catch((error: unknown) => {
    throw new Error(`must pass a container spec json file for custom profile: ${messageOf(error)}`, {
      cause: error,
    })
  })
  try {
    const value = parseYaml(content, { maxBytes: bytesMax })
    if (isObject(value)) return value
    throw new Error('it is not an object')
  } catch (error) {
    throw new Error(`${path} does not contain a valid container spec: ${messageOf(error)}`, { cause: error })
  }
}

const fixedFields = ['name', 'command', 'image', 'lifecycle', 'volumeDevices']

/** Throws Error. */
export function checkCustomProfile(profile: JsonObject): void {
  const isFixed = (field: string): boolean => {
    const value = profile[field]
    return (
      value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
    )
  }
  if (fixedFields.some(isFixed)) {
    throw new Error(
      'name, command, image, lifecycle and volume devices are not modifiable via custom profile',
    )
  }
}

/** The container with the fields of the profile merged into it. */
export async function applyCustomProfile<C extends AnyContainer>(
  container: C,
  profile: JsonObject,
): Promise<C> {
  const [{ applyPatch }, schema] = await Promise.all([
    import('#/api/patch.ts'),
    kindSchemaOf({ group: '', version: 'v1', kind: 'Pod' }),
  ])
  // Containers are merged by name as a part of a pod.
  const current = { spec: { containers: [container] } }
  const patch = { spec: { containers: [{ ...profile, name: container.name }] } }
  const merged = applyPatch('strategic', {
    current: current as unknown as JsonObject,
    patch,
    schema,
  }) as unknown as Pod
  return merged.spec!.containers[0] as C
}
