import type { GroupVersionKind } from '#/api/resource.ts'
import type { Schema } from '#/api/schema.ts'

/** The schema of a built-in kind, which strategic merge patches need. Undefined for custom resources. */
export async function kindSchemaOf({ group, version, kind }: GroupVersionKind): Promise<Schema | undefined> {
  const { kindDefinition } = await import('#/api/definitions.ts')
  return kindDefinition(group === '' ? version : `${group}/${version}`, kind)
}
