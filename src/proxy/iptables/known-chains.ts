/** The chains of a cluster that the kernel has, and the rules of the built-in chains that jump to them. */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { ChainNames } from './chain-names.ts'
import type { IptablesTable } from './rule-objects.ts'

export interface KnownTable {
  readonly chains: ReadonlySet<string>
  /** As `iptables-save` prints them after `-A `. */
  readonly jumps: readonly string[]
}

export type KnownChains = Readonly<Record<IptablesTable, KnownTable>>

const builtIn = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']

/** Filtered by the shell: all rules of a large cluster would exceed the output of a command. */
export async function readChains(
  linux: Pick<Linux, 'run'>,
  { family, names }: { readonly family: IpFamily; readonly names: ChainNames },
  signal?: AbortSignal,
): Promise<KnownChains> {
  const save = family === 4 ? 'iptables-save' : 'ip6tables-save'
  const wanted = `^(:${names.pattern} |-A (${builtIn.join('|')}) (.* )?-j ${names.pattern}( |$))`
  const command = ['sh', '-c', readScript, 'sh', save, wanted]
  const lines = (await linux.run(command, signal && { signal })).split('\n')
  const filterAt = lines.indexOf('filter')
  return {
    nat: parseTable(lines.slice(lines.indexOf('nat') + 1, filterAt)),
    filter: parseTable(lines.slice(filterAt + 1)),
  }
}

const readScript =
  'for table in nat filter; do ' +
  'rules=$("$1" -t "$table") || exit; echo "$table"; printf "%s\\n" "$rules" | grep -E "$2" || :; done'

function parseTable(lines: readonly string[]): KnownTable {
  const chains = lines.filter(line => line.startsWith(':')).map(line => line.slice(1, line.indexOf(' ')))
  const jumps = lines.filter(line => line.startsWith('-A ')).map(line => line.slice('-A '.length))
  return { chains: new Set(chains), jumps }
}

/** Empty if there is nothing to remove. */
export function planRemoval(known: KnownChains): string {
  const texts = (['nat', 'filter'] as const).map(table => {
    const { chains, jumps } = known[table]
    if (chains.size === 0) return ''
    return tableText(table, [
      ...[...chains].map(chain => `:${chain} - [0:0]`),
      ...jumps.map(jump => `-D ${jump}`),
      ...[...chains].map(chain => `-X ${chain}`),
    ])
  })
  return texts.join('')
}

export function tableText(table: IptablesTable, lines: readonly string[]): string {
  return [`*${table}`, ...lines, 'COMMIT', ''].join('\n')
}
