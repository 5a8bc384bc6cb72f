import type { FlagValues } from '#/base/flags.ts'
import { quote } from '#/api/text/quote.ts'
import { defineCommand } from '../../command.ts'
import { boolFlag, stringArrayFlag, stringFlag } from '../../flag-types.ts'
import { globalFlags } from '../../global-flags.ts'
import { kubercOf, readKuberc, writeKuberc } from '../../kuberc/kuberc-document.ts'
import { planPreference, type PreferenceChange } from '../../kuberc/plan-preference.ts'

const flags = {
  'allowlist-entry': stringArrayFlag(
    'Credential plugin that may run, command=NAME or command=PATH; may be repeated.',
  ),
  'appendarg': stringArrayFlag('Argument of an alias after those on the command line; may be repeated.'),
  'command': stringFlag('Command with its subcommand, such as "get" or "set env".'),
  'kuberc': globalFlags.kuberc,
  'name': stringFlag('Name of the alias.'),
  'option': stringArrayFlag('Value of a flag, FLAG=VALUE; may be repeated.'),
  'overwrite': boolFlag('Replace existing entries.'),
  'policy': stringFlag('Credential plugins that may run: AllowAll, DenyAll or Allowlist.'),
  'prependarg': stringArrayFlag('Argument of an alias before those on the command line; may be repeated.'),
  'section': stringFlag('What to change: defaults, aliases or credentialplugin.', { required: true }),
}

export const command = defineCommand({
  usage: 'set --section (defaults|aliases) --command COMMAND',
  description: `Changes the kuberc file.

In section defaults it sets values of flags for a command, which the command line may override. In section aliases it
adds a command with flags and arguments. In section credentialplugin it sets which credential plugins of kubeconfigs
may run.`,
  examples: `  # Wide tables by default
  kubectl kuberc set --section defaults --command get --option output=wide

  # A default of a subcommand
  kubectl kuberc set --section defaults --command "set env" --option output=yaml

  # "kubectl getn" lists nodes
  kubectl kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide

  # Replace a default
  kubectl kuberc set --section defaults --command get --option output=json --overwrite

  # Only one credential plugin may run
  kubectl kuberc set --section credentialplugin --policy Allowlist --allowlist-entry command=cloud-login`,
  flags,
  async run({ flags, factory }) {
    const { path } = kubercOf(factory, flags.kuberc)
    const change = changeOf(flags)
    validateChange(change)
    const preference = (await readKuberc(factory, path)) ?? { defaults: [], aliases: [] }
    await writeKuberc(factory, path, planPreference(preference, change))
  },
})

function changeOf(given: FlagValues<typeof flags>): PreferenceChange {
  return {
    section: given.section ?? '',
    command: given.command ?? '',
    name: given.name ?? '',
    options: given.option ?? [],
    prependArgs: given.prependarg ?? [],
    appendArgs: given.appendarg ?? [],
    overwrite: given.overwrite ?? false,
    policy: given.policy ?? '',
    allowlistEntries: given['allowlist-entry'] ?? [],
  }
}

const policies: readonly string[] = ['AllowAll', 'DenyAll', 'Allowlist']

/** Throws Error for flags that contradict each other. */
function validateChange(change: PreferenceChange): void {
  const { section, name, command, policy, allowlistEntries } = change
  if (!['defaults', 'aliases', 'credentialplugin'].includes(section)) {
    throw new Error(`--section must be "defaults", "aliases", or "credentialplugin", got: ${section}`)
  }
  if (section === 'aliases' && name === '') throw new Error('--name is required when --section=aliases')
  if (section === 'defaults') {
    if (name !== '') throw new Error('--name should not be specified when --section=defaults')
    if (change.prependArgs.length > 0 || change.appendArgs.length > 0) {
      throw new Error('--prependarg and --appendarg are only valid for --section=aliases')
    }
  }
  if (section !== 'credentialplugin') {
    if (command !== '') return
    throw new Error('--command is required when --section=aliases or --section=defaults')
  }
  if (policy === '') throw new Error('--policy is required when --section=credentialplugin')
  if (!policies.includes(policy)) {
    throw new Error(
      ` --policy must be  ${policies.slice(0, 2).map(quote).join(', ')}, or "Allowlist", got: ${policy}`,
    )
  }
  const condition = 'when --section=credentialplugin and --policy=Allowlist'
  if (policy === 'Allowlist' && allowlistEntries.length === 0) {
    throw new Error(`--allowlist-entry is required ${condition}`)
  }
  if (policy !== 'Allowlist' && allowlistEntries.length > 0) {
    throw new Error(`--allowlist-entry may only be used ${condition}`)
  }
}
