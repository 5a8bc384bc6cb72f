/** Custom resources whose objects may be stored in an older version than the one in which they are written now. */
import { isTrue } from '#/api/conditions.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { storageVersionMigrations } from '#/api/generated/storagemigration/v1beta1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { discoverResources } from '#/client/discovery.ts'
import type { Platform } from '#/platform/node.ts'

type Definition = Stored<CustomResourceDefinition>

export async function describeStoredVersions(client: Client): Promise<string> {
  const definitions = await definitionsWithOlderVersions(client)
  if (definitions.length === 0) return ''
  const lines = definitions.map(each => `  ${each.metadata.name}: ${olderStoredVersions(each).join(', ')}\n`)
  return `Objects may still be stored in older versions; a StorageVersionMigration rewrites them:\n${lines.join('')}\n`
}

export interface MigrateStoredVersions {
  readonly platform: Platform
  readonly client: Client
  readonly onProgress: (line: string) => void
}

/** Migrates them where the API server serves StorageVersionMigrations, which is off by default. */
export async function migrateStoredVersions(options: MigrateStoredVersions): Promise<void> {
  const { client, onProgress } = options
  const definitions = await definitionsWithOlderVersions(client)
  if (definitions.length === 0) return
  const { group, plural } = storageVersionMigrations
  const served = await discoverResources(client)
  if (!served.some(each => each.group === group && each.plural === plural)) {
    const names = definitions.map(({ metadata }) => metadata.name).join(', ')
    const flags = `--runtime-config ${group}/v1beta1=true --feature-gates StorageVersionMigrator=true`
    onProgress(`Objects of ${names} may be stored in older versions: they can be migrated with ${flags}`)
    return
  }
  for (const definition of definitions) await migrate(options, definition)
}

async function migrate(
  { platform, client, onProgress }: MigrateStoredVersions,
  definition: Definition,
): Promise<void> {
  const { group, names } = definition.spec
  const spec = { resource: { group, resource: names.plural } }
  const { metadata } = await client.create(storageVersionMigrations, {
    metadata: { generateName: 'upgrade-' },
    spec,
  })
  const { clock } = platform
  const endMs = clock.monotonicMs() + migrationMs
  const { name } = metadata
  for (;;) {
    const { status } = await client.get(storageVersionMigrations, { name })
    if (isTrue(status?.conditions, 'Succeeded')) return onProgress(`Migrated ${definition.metadata.name}`)
    const failed = status?.conditions?.find(each => each.type === 'Failed' && each.status === 'True')
    if (failed !== undefined)
      return onProgress(`Migration of ${definition.metadata.name} failed: ${failed.message}`)
    if (clock.monotonicMs() > endMs)
      return onProgress(`StorageVersionMigration ${name} goes on; see kubectl get storageversionmigrations`)
    await clock.sleep(pollMs)
  }
}

const migrationMs = 120_000
const pollMs = 500

async function definitionsWithOlderVersions(client: Client): Promise<readonly Definition[]> {
  const { items } = await client.listAll(customResourceDefinitions)
  return items.filter(each => olderStoredVersions(each).length > 0)
}

/** The versions in `status.storedVersions` beside the storage version. */
function olderStoredVersions({ spec, status }: CustomResourceDefinition): readonly string[] {
  const storage = spec.versions.find(version => version.storage)?.name
  return (status?.storedVersions ?? []).filter(version => version !== storage)
}
