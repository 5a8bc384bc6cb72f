/** `k8ts kubeconfig`: kubeconfigs for additional users. */
import { join } from 'node:path'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { stringFlag, stringSliceFlag, UsageError, valueFlag } from '#/base/flags.ts'
import { issueUserKubeconfig } from '#/kubeadm/user-kubeconfig.ts'
import { settingsOf, loadKubeconfig } from '#/kubeconfig/kubeconfig.ts'
import { nodeCrypto, type Platform } from '#/platform/node.ts'
import { adminKubeconfig, dataFolder, dataFolderFlag } from './data-folder.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

const userFlags = {
  'client-name': stringFlag('NAME', 'name of the user: the common name of the client certificate (required)'),
  'org': stringSliceFlag('GROUPS', 'groups of the user: the organizations of the client certificate'),
  'token': stringFlag('TOKEN', 'bearer token, instead of a client certificate'),
  'validity-period': valueFlag('DURATION', 'validity of the client certificate (default 8760h0m0s)', {
    parse: tryParsePeriodMs,
    what: 'a positive duration such as 24h',
  }),
  ...dataFolderFlag,
}

export const command = commandWithSubcommands({
  name: 'kubeconfig',
  summary: 'Kubeconfigs for additional users of a cluster.',
  subcommands: {
    user: subcommand({
      summary:
        'Print a kubeconfig for an additional user, with a client certificate that the CA of the cluster signs',
      flags: userFlags,
      maxArguments: 0,
      run: user,
    }),
  },
  examples: `  k8ts kubeconfig user --client-name jane --org developers --validity-period 24h > jane.conf
`,
})

function tryParsePeriodMs(text: string): number | undefined {
  const ms = tryParseDurationMs(text)
  return ms !== undefined && ms > 0 ? ms : undefined
}

async function user(invocation: SubcommandInvocation<typeof userFlags>): Promise<number> {
  const { platform, terminal, flags } = invocation
  const { 'client-name': name, 'org': organizations = [], token } = flags
  if (name === undefined || name === '') throw new UsageError('required flag --client-name not set')
  const folder = dataFolder(flags)
  const text = await issueUserKubeconfig({
    platform,
    crypto: nodeCrypto(),
    certificatesFolder: join(folder, 'pki'),
    server: await serverOf(platform, adminKubeconfig(folder)),
    name,
    organizations,
    token,
    validityMs: flags['validity-period'],
  })
  terminal.write(text)
  return 0
}

/** The server in the administrator's kubeconfig. */
async function serverOf(platform: Platform, explicitPath: string): Promise<string> {
  const kubeconfig = await loadKubeconfig(platform, { environment: {}, workingFolder: '/', explicitPath })
  const settings = settingsOf(kubeconfig)
  if (settings === undefined) throw new Error(`${explicitPath} has no cluster: set --data-dir`)
  return settings.server
}
