/**
 * Reads a Corefile, the configuration of CoreDNS: the plugins that clusters use, with their documented options.
 * A plugin or option that this server does not have is an error, so that a configuration is never applied in part.
 * https://coredns.io/manual/configuration/
 */
import type { DnsConfiguration, ServerBlock } from './dns-configuration.ts'
import { pluginReaders, type BlockDraft } from './corefile/plugins.ts'
import { CorefileError, parseServerBlocks, type ServerBlockText } from './corefile/server-blocks.ts'
import { fail, readZone } from './corefile/values.ts'

export type ReadCorefile =
  | { readonly configuration: DnsConfiguration }
  | { readonly problem: { readonly line: number; readonly reason: string } }

/** Bounds of a configuration. */
const zonesMax = 1_000
const charactersMax = 1_048_576

export function readCorefile(text: string): ReadCorefile {
  try {
    if (text.length > charactersMax) throw new CorefileError(1, `has more than ${charactersMax} characters`)
    const servers = parseServerBlocks(text).flatMap(readServerBlock)
    requireDifferentZones(servers)
    return { configuration: { servers: servers.map(({ block }) => block) } }
  } catch (error) {
    if (!(error instanceof CorefileError)) throw error
    return { problem: { line: error.line, reason: error.message } }
  }
}

interface PlacedBlock {
  readonly line: number
  readonly block: ServerBlock
}

function readServerBlock(from: ServerBlockText): readonly PlacedBlock[] {
  if (from.name.startsWith('(')) throw new CorefileError(from.line, 'snippets are not supported')
  const words = [from.name, ...from.words].map(word => word.replace(/,$/, ''))
  const zones = words.map(word => readServerKey(from, word))
  const draft: BlockDraft = { zones, forwards: [], rewrites: [] }
  const plugins = new Set<string>()
  for (const directive of from.block) {
    const { name, line } = directive
    const read = pluginReaders.get(name)
    if (read === undefined) throw new CorefileError(line, `plugin ${JSON.stringify(name)} is not supported`)
    if (plugins.has(name) && name !== 'forward' && name !== 'rewrite') fail(directive, 'is given twice')
    plugins.add(name)
    read(directive, draft)
  }
  const { zones: _, ...rest } = draft
  return zones.map(zone => ({ line: from.line, block: { ...rest, zone, plugins: [...plugins].toSorted() } }))
}

/** `example.com`, `example.com:53`, `dns://example.com` or `.:53`. */
function readServerKey(from: ServerBlockText, text: string): string {
  const [, scheme = 'dns', rest = ''] = /^(?:([a-z]+):\/\/)?(.*)$/.exec(text) ?? []
  const [, zone = '', port = '53'] = /^(.*?)(?::(\d+))?$/.exec(rest) ?? []
  const { line } = from
  if (scheme !== 'dns')
    throw new CorefileError(line, `${scheme}:// is not supported: only DNS over UDP and TCP`)
  if (port !== '53')
    throw new CorefileError(line, `port ${port} is not supported: the server listens at port 53`)
  return readZone({ ...from, name: 'server block' }, zone === '' ? '.' : zone)
}

function requireDifferentZones(servers: readonly PlacedBlock[]): void {
  if (servers.length > zonesMax) throw new CorefileError(1, `has more than ${zonesMax} zones`)
  const seen = new Set<string>()
  for (const { line, block } of servers) {
    if (seen.has(block.zone)) throw new CorefileError(line, `zone ${block.zone || '.'} has two server blocks`)
    seen.add(block.zone)
  }
}
