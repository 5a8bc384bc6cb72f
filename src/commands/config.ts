/** `k8ts config`: shows and validates kubeadm's configuration file. */
import { join, resolve } from 'node:path'
import { UsageError, valueFlag } from '#/base/flags.ts'
import {
  defaultInitConfiguration,
  defaultJoinConfiguration,
  formatConfiguration,
  type DefaultsOptions,
} from '#/kubeadm/configuration.ts'
import { machineNames } from '#/platform/node.ts'
import { kubeadmVersion, readConfigurationFile } from './configuration-file.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { commandWithSubcommands, subcommand } from './subcommands.ts'

const configFlags = {
  config: valueFlag('FILE', 'configuration file', { parse: text => resolve(text), what: 'a file' }),
}

export const command = commandWithSubcommands({
  name: 'config',
  summary: `Configuration files of k8ts init and k8ts join: the kinds ClusterConfiguration, InitConfiguration and
JoinConfiguration of kubeadm.k8s.io/v1beta4.`,
  subcommands: {
    print: subcommand({
      usage: 'init-defaults|join-defaults',
      summary: 'Print a configuration file with the defaults',
      flags: dataFolderFlag,
      maxArguments: 1,
      async run({ terminal, words, flags }) {
        const text = defaultsOf(words[0] ?? '', {
          nodeName: (machineNames()[0] ?? 'node').toLowerCase(),
          kubernetesVersion: `${kubeadmVersion}.0`,
          certificatesDir: join(dataFolder(flags), 'pki'),
        })
        if (text === undefined) throw new UsageError('usage: k8ts config print init-defaults|join-defaults')
        terminal.write(text)
        return 0
      },
    }),
    validate: subcommand({
      summary: 'Report unknown and unsupported fields and invalid values of a configuration file',
      flags: configFlags,
      maxArguments: 0,
      async run({ platform, terminal, flags }) {
        if (flags.config === undefined) throw new UsageError('required flag --config not set')
        await readConfigurationFile(platform, flags.config)
        terminal.write('ok\n')
        return 0
      },
    }),
  },
  examples: `  k8ts config print init-defaults > cluster.yaml
  k8ts config validate --config cluster.yaml
`,
})

function defaultsOf(what: string, options: DefaultsOptions): string | undefined {
  if (what === 'join-defaults')
    return formatConfiguration('JoinConfiguration', defaultJoinConfiguration(options))
  if (what !== 'init-defaults') return undefined
  const { init, cluster } = defaultInitConfiguration(options)
  const documents = [
    formatConfiguration('InitConfiguration', init),
    formatConfiguration('ClusterConfiguration', cluster),
  ]
  return documents.join('---\n')
}
