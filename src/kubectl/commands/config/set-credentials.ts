import type { ExecEntry, UserEntry } from '#/kubeconfig/kubeconfig.ts'
import type { FlagValues } from '#/base/flags.ts'
import { defineCommand, type Command } from '../../command.ts'
import {
  changeConfig,
  embeddedFile,
  relativeToConfig,
  requireArguments,
  showHelp,
} from '../../config/change-config.ts'
import type { Factory } from '../../factory.ts'
import { boolFlag, stringArrayFlag, stringFlag, stringSliceFlag } from '../../flag-types.ts'

const flags = {
  'auth-provider': stringFlag('Name of the authentication provider: oidc.'),
  'auth-provider-arg': stringSliceFlag('Setting of the authentication provider, KEY=VALUE; KEY- removes it.'),
  'client-certificate': stringFlag('File with the client certificate.'),
  'client-key': stringFlag('File with the key of the client certificate.'),
  'embed-certs': boolFlag('Store the content of the files in the kubeconfig, not their paths.'),
  'exec-api-version': stringFlag('API version of the credential plugin.'),
  'exec-arg': stringSliceFlag('Arguments of the credential plugin.'),
  'exec-command': stringFlag('Command of the credential plugin.'),
  'exec-env': stringArrayFlag('Environment variable of the credential plugin, KEY=VALUE; KEY- removes it.'),
  'exec-interactive-mode': stringFlag(
    'InteractiveMode of the credential plugin: Never, IfAvailable or Always.',
  ),
  'exec-provide-cluster-info': boolFlag('Pass information about the cluster to the credential plugin.'),
  'password': stringFlag('Password for basic authentication.'),
  'token': stringFlag('Bearer token.'),
  'username': stringFlag('Username for basic authentication.'),
}

const interactiveModes: readonly string[] = ['IfAvailable', 'Never', 'Always']

type CredentialFlags = FlagValues<typeof flags>

export const command: Command = defineCommand({
  usage:
    'set-credentials NAME [--client-certificate=FILE] [--client-key=FILE] [--token=TOKEN] [--username=NAME]',
  description: `Adds a user to the kubeconfig, or changes fields of an existing one.

A user has a client certificate, a bearer token, a username with password, a credential plugin or an authentication
provider.`,
  examples: `  # A client certificate, stored in the kubeconfig
  kubectl config set-credentials admin --client-certificate=admin.crt --client-key=admin.key --embed-certs

  # A token
  kubectl config set-credentials robot --token=bearer_token

  # A credential plugin
  kubectl config set-credentials me --exec-command=login --exec-api-version=client.authentication.k8s.io/v1`,
  flags,
  async run(invocation) {
    await requireArguments(command, invocation, { count: 1, message: 'unexpected args' })
    const { args, flags, factory, streams } = invocation
    const [name = ''] = args
    const methods = [
      ...(flags.token ? ['--token'] : []),
      ...(flags.username || flags.password ? ['--username/--password'] : []),
    ]
    if (methods.length > 1) {
      throw new Error(
        `you cannot specify more than one authentication method at the same time: ${methods.join(', ')}`,
      )
    }
    if (flags['embed-certs'] && !flags['client-certificate'] && !flags['client-key']) {
      throw new Error('you must specify a --client-certificate or --client-key to embed')
    }
    const { 'exec-interactive-mode': mode } = flags
    if (mode !== undefined && !interactiveModes.includes(mode)) {
      throw new Error(`invalid interactive mode type, can be only ${interactiveModes.join(', ')}`)
    }
    const problem = settingProblem(flags)
    if (problem !== undefined) {
      await showHelp(command, invocation)
      throw new Error(problem)
    }
    const certificate = await certificateOf(factory, flags)
    const changed = (existing: UserEntry): UserEntry => ({
      ...withoutReplaced(existing, flags),
      ...certificate,
      ...(flags.token !== undefined && { token: flags.token }),
      ...(flags.username !== undefined && { username: flags.username }),
      ...(flags.password !== undefined && { password: flags.password }),
      ...providerOf(existing, flags),
      ...execOf(existing, flags),
    })
    await changeConfig(factory, ({ users }) => [
      { section: 'users', name, value: changed(users.get(name)?.value ?? {}) },
    ])
    streams.write(`User ${JSON.stringify(name)} set.\n`)
  },
})

/** A token and a username exclude each other. */
function withoutReplaced(entry: UserEntry, flags: CredentialFlags): UserEntry {
  const hidden = new Set<string>([
    ...(flags.token ? ['username', 'password', 'tokenFile'] : []),
    ...(flags.username || flags.password ? ['token', 'tokenFile'] : []),
    ...(flags['client-certificate'] ? ['client-certificate', 'client-certificate-data'] : []),
    ...(flags['client-key'] ? ['client-key', 'client-key-data'] : []),
  ])
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !hidden.has(name)))
}

async function certificateOf(factory: Factory, flags: CredentialFlags): Promise<UserEntry> {
  const entries = (['client-certificate', 'client-key'] as const).map(async (name): Promise<UserEntry> => {
    const file = flags[name]
    if (!file) return {}
    if (!flags['embed-certs']) return { [name]: await relativeToConfig(factory, file) }
    return { [`${name}-data`]: await embeddedFile(factory, { flag: name, path: file }) }
  })
  const [certificate, key] = await Promise.all(entries)
  return { ...certificate, ...key }
}

function providerOf(entry: UserEntry, flags: CredentialFlags): UserEntry {
  const name = flags['auth-provider']
  const given = flags['auth-provider-arg'] ?? []
  const existing = entry['auth-provider']
  const previous = name === undefined || name === existing?.name ? existing : undefined
  if (name === undefined && (given.length === 0 || previous === undefined)) return {}
  const config = changedSettings(previous?.config ?? {}, given)
  return { 'auth-provider': { name: name ?? previous?.name ?? '', config } }
}

function execOf({ exec: existing = {} }: UserEntry, flags: CredentialFlags): UserEntry {
  const { 'exec-command': command, 'exec-api-version': apiVersion, 'exec-arg': args, 'exec-env': env } = flags
  const { 'exec-interactive-mode': interactiveMode, 'exec-provide-cluster-info': provideClusterInfo } = flags
  if (command === undefined && existing.command === undefined) return {}
  const exec = command === undefined || command === existing.command ? existing : {}
  const variables = Object.fromEntries((exec.env ?? []).map(({ name = '', value = '' }) => [name, value]))
  const changed = Object.entries(changedSettings(variables, env ?? [])).map(([name, value]) => ({
    name,
    value,
  }))
  const value: ExecEntry = {
    ...exec,
    ...(command !== undefined && { command }),
    ...(apiVersion !== undefined && { apiVersion }),
    ...(args !== undefined && { args }),
    ...(env !== undefined && { env: changed }),
    ...(interactiveMode !== undefined && { interactiveMode }),
    provideClusterInfo: provideClusterInfo ?? exec.provideClusterInfo ?? false,
  }
  return { exec: value }
}

/** What is wrong with the settings of a plugin or provider. */
function settingProblem(flags: CredentialFlags): string | undefined {
  for (const name of ['exec-env', 'auth-provider-arg'] as const) {
    const wrong = flags[name]?.find(each => !/^[^=]+=/.test(each) && !/.-$/.test(each))
    if (wrong !== undefined) return `invalid ${name} format: ${wrong}`
  }
  return undefined
}

/** `KEY=VALUE` sets a value, `KEY-` removes it. */
function changedSettings(
  previous: Readonly<Record<string, string>>,
  given: readonly string[],
): Readonly<Record<string, string>> {
  const changed = new Map(Object.entries(previous))
  for (const each of given) {
    const [, key = '', value = ''] = /^([^=]+)=([^]*)$/.exec(each) ?? []
    if (key !== '') changed.set(key, value)
    else changed.delete(each.slice(0, -1))
  }
  return Object.fromEntries(changed)
}
