/** `k8ts addon`: enables and disables parts of a cluster that not all clusters need. */
import { boolFlag, UsageError } from '#/base/flags.ts'
import { formatTable } from '#/kubeadm/format-table.ts'
import type { Addon } from './addon/addon.ts'
import { gatewayApi } from './addon/gateway-api.ts'
import { connectCluster, connectionFlags } from './cluster-connection.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

const addons: ReadonlyMap<string, Addon> = new Map([['gateway-api', gatewayApi]])

const disableFlags = {
  force: boolFlag('delete all objects of the addon, even if it is in use'),
  ...connectionFlags,
}

export const command = commandWithSubcommands({
  name: 'addon',
  summary: 'Enables and disables parts of a cluster that not all clusters need.',
  subcommands: {
    enable: subcommand({
      usage: 'NAME',
      summary: 'Install the objects of an addon, or bring them up to date, and wait until they can be used',
      flags: connectionFlags,
      maxArguments: 1,
      run: enable,
    }),
    disable: subcommand({
      usage: 'NAME',
      summary: 'Remove the objects of an addon',
      flags: disableFlags,
      maxArguments: 1,
      run: disable,
    }),
    list: subcommand({
      summary: 'List all addons, and if they are enabled',
      flags: connectionFlags,
      maxArguments: 0,
      run: list,
    }),
  },
  examples: `  k8ts addon enable gateway-api
      installs the kinds of the Gateway API and the GatewayClass k8ts
  k8ts addon list
  k8ts addon disable gateway-api
`,
})

async function enable({
  platform,
  terminal,
  words,
  flags,
}: SubcommandInvocation<typeof connectionFlags>): Promise<number> {
  const { name, addon } = addonOf(words)
  await using cluster = await connectCluster(platform, flags)
  const message = await addon.enable({ platform, client: cluster.client })
  terminal.write(`${name} enabled: ${message}\n`)
  return 0
}

async function disable({
  platform,
  terminal,
  words,
  flags,
}: SubcommandInvocation<typeof disableFlags>): Promise<number> {
  const { name, addon } = addonOf(words)
  await using cluster = await connectCluster(platform, flags)
  await addon.disable({ platform, client: cluster.client }, { force: flags.force === true })
  terminal.write(`${name} disabled\n`)
  return 0
}

async function list({
  platform,
  terminal,
  flags,
}: SubcommandInvocation<typeof connectionFlags>): Promise<number> {
  await using cluster = await connectCluster(platform, flags)
  const rows = await Promise.all(
    [...addons].map(async ([name, addon]) => {
      const isEnabled = await addon.isEnabled({ platform, client: cluster.client })
      return [name, isEnabled ? 'enabled' : 'disabled', addon.summary]
    }),
  )
  terminal.write(formatTable([['NAME', 'STATE', 'CONTENT'], ...rows]))
  return 0
}

function addonOf([name]: readonly string[]): { readonly name: string; readonly addon: Addon } {
  const addon = name === undefined ? undefined : addons.get(name)
  if (name !== undefined && addon !== undefined) return { name, addon }
  const known = [...addons.keys()].join(', ')
  throw new UsageError(name === undefined ? `name an addon: ${known}` : `unknown addon ${name}: use ${known}`)
}
