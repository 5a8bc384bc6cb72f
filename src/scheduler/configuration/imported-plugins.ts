import { messageOf } from '#/base/message-of.ts'
import { quote } from '#/api/text/quote.ts'
import type { PluginFactory } from '../framework.ts'
import type { PluginConfigFields } from './fields.ts'
import { ConfigurationError } from './schema.ts'

/** Imports a module by absolute path or package name. */
export type ImportModule = (specifier: string) => Promise<unknown>

/**
 * Out-of-tree plugins: modules with a plugin factory as default export. Paths are relative to the
 * configuration file. They run in the scheduler's process with all its privileges.
 */
export async function importedPlugins(
  pluginConfig: readonly PluginConfigFields[],
  field: string,
  { folder, importModule }: { readonly folder: string; readonly importModule: ImportModule },
): Promise<ReadonlyMap<string, PluginFactory>> {
  const imported = await Promise.all(
    pluginConfig.map(async ({ name = '', import: path }, index) => {
      if (path === undefined) return []
      const at = `${field}.pluginConfig[${index}].import`
      const specifier = path.startsWith('.') ? `${folder}/${path}` : path
      return [[name, await importFactory(specifier, at, importModule)] as const]
    }),
  )
  return new Map(imported.flat())
}

async function importFactory(
  specifier: string,
  at: string,
  importModule: ImportModule,
): Promise<PluginFactory> {
  const module = await importModule(specifier).catch((cause: unknown) => {
    const reason = messageOf(cause)
    throw new ConfigurationError(`${at}: cannot import ${quote(specifier)}: ${reason}`, { cause })
  })
  const made = (module as { readonly default?: unknown } | undefined)?.default
  if (typeof made === 'function') return made as PluginFactory
  throw new ConfigurationError(`${at}: ${quote(specifier)} has no default export that is a plugin factory`)
}
