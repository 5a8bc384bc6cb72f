/** `k8ts token`: manages the bootstrap tokens with which machines join a cluster. */
import type { JsonObject } from '#/api/text/json-object.ts'
import { shortHumanDuration, tryParseDurationMs } from '#/api/text/duration.ts'
import { formatTime } from '#/api/text/time.ts'
import { boolFlag, stringFlag, stringSliceFlag, UsageError, valueFlag } from '#/base/flags.ts'
import {
  bootstrapTokenUsages,
  defaultTokenTtlMs,
  generateBootstrapToken,
  nodeBootstrapTokenGroup,
  parseBootstrapToken,
  validateBootstrapToken,
  type BootstrapToken,
} from '#/kubeadm/bootstrap-token.ts'
import {
  createBootstrapToken,
  deleteBootstrapToken,
  listBootstrapTokens,
} from '#/kubeadm/bootstrap-tokens.ts'
import { formatTable } from '#/kubeadm/format-table.ts'
import { joinCommand } from '#/kubeadm/join-command.ts'
import { outputFlag, printObject } from '#/kubeadm/print-object.ts'
import { connectionFlags, connectCluster } from './cluster-connection.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

const createFlags = {
  'ttl': valueFlag('DURATION', 'time until the token expires, 0 for never (default 24h0m0s)', {
    parse: tryParseTtlMs,
    what: 'a duration such as 24h or 90m',
  }),
  'usages': stringSliceFlag('USAGES', 'usages of the token (default signing,authentication)'),
  'groups': stringSliceFlag('GROUPS', `groups of the token (default ${nodeBootstrapTokenGroup})`),
  'description': stringFlag('TEXT', 'description of the token'),
  'print-join-command': boolFlag('print the command with which a machine joins the cluster'),
  'certificate-key': stringFlag('KEY', 'with --print-join-command: print the command for a control plane'),
  ...connectionFlags,
}

const listFlags = { output: outputFlag, ...connectionFlags }

export const command = commandWithSubcommands({
  name: 'token',
  summary:
    'Manages bootstrap tokens, with which machines join a cluster: Secrets in the namespace kube-system.',
  subcommands: {
    create: subcommand({
      usage: '[TOKEN]',
      summary: 'Create a bootstrap token, of the form abcdef.0123456789abcdef; a random one by default',
      flags: createFlags,
      maxArguments: 1,
      run: create,
    }),
    list: subcommand({
      summary: 'List the bootstrap tokens of the cluster',
      flags: listFlags,
      maxArguments: 0,
      run: list,
    }),
    delete: subcommand({
      usage: 'TOKEN...',
      summary: 'Delete bootstrap tokens by their ID or value',
      flags: connectionFlags,
      maxArguments: Infinity,
      run: remove,
    }),
    generate: subcommand({
      summary: 'Print a random bootstrap token without creating it',
      flags: {},
      maxArguments: 0,
      async run({ platform, terminal }) {
        terminal.write(`${generateBootstrapToken(platform.random)}\n`)
        return 0
      },
    }),
  },
  examples: `  k8ts token create --print-join-command
      creates a token that is valid for a day, and prints the command for a further node
  k8ts token list
  k8ts token delete abcdef
`,
})

function tryParseTtlMs(text: string): number | undefined {
  const ms = tryParseDurationMs(text)
  return ms !== undefined && ms >= 0 ? ms : undefined
}

async function create(invocation: SubcommandInvocation<typeof createFlags>): Promise<number> {
  const { platform, terminal, words, flags } = invocation
  const certificateKey = flags['certificate-key']
  if (certificateKey !== undefined && flags['print-join-command'] !== true)
    throw new UsageError('cannot use --certificate-key without --print-join-command')
  const text = words[0] ?? generateBootstrapToken(platform.random)
  const parsed = parseBootstrapToken(text)
  if (parsed === undefined)
    throw new UsageError(`${text} is no bootstrap token: the form is abcdef.0123456789abcdef`)
  const ttlMs = flags.ttl ?? defaultTokenTtlMs
  const usages = flags.usages ?? bootstrapTokenUsages
  const token: BootstrapToken = {
    ...parsed,
    description: flags.description ?? '',
    expiresMs: ttlMs === 0 ? undefined : platform.clock.now() + ttlMs,
    usages,
    groups: flags.groups ?? (usages.includes('authentication') ? [nodeBootstrapTokenGroup] : []),
  }
  const problem = validateBootstrapToken(token)
  if (problem !== undefined) throw new UsageError(problem)
  await using cluster = await connectCluster(platform, flags)
  await createBootstrapToken(cluster.client, token)
  terminal.write(
    `${flags['print-join-command'] === true ? joinCommand({ ...cluster, token: text, certificateKey }) : text}\n`,
  )
  return 0
}

async function list({ platform, terminal, flags }: SubcommandInvocation<typeof listFlags>): Promise<number> {
  await using cluster = await connectCluster(platform, flags)
  const { tokens, problems } = await listBootstrapTokens(cluster.client)
  for (const problem of problems) terminal.writeError(`${problem}\n`)
  const { output = 'text' } = flags
  if (output !== 'text') {
    const texts = tokens.map(token => printObject('BootstrapToken', outputFields(token), output))
    terminal.write(texts.join(output === 'yaml' ? '---\n' : ''))
    return 0
  }
  if (tokens.length > 0) terminal.write(formatTokens(tokens, platform.clock.now()))
  return 0
}

function formatTokens(tokens: readonly BootstrapToken[], nowMs: number): string {
  const rows = tokens.map(({ id, secret, description, expiresMs, usages, groups }) => [
    `${id}.${secret}`,
    (expiresMs === undefined ? '<forever>' : shortHumanDuration(expiresMs - nowMs)).padEnd(9),
    expiresMs === undefined ? '<never>' : formatTime(expiresMs),
    (usages.join() || '<none>').padEnd(22),
    (description || '<none>').padEnd(56),
    groups.join() || '<none>',
  ])
  return formatTable([['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'], ...rows])
}

function outputFields({ id, secret, description, expiresMs, usages, groups }: BootstrapToken): JsonObject {
  return {
    token: `${id}.${secret}`,
    ...(description !== '' && { description }),
    ...(expiresMs !== undefined && { expires: formatTime(expiresMs) }),
    ...(usages.length > 0 && { usages: [...usages] }),
    ...(groups.length > 0 && { groups: [...groups] }),
  }
}

async function remove({
  platform,
  terminal,
  words,
  flags,
}: SubcommandInvocation<typeof connectionFlags>): Promise<number> {
  if (words.length === 0) throw new UsageError('usage: k8ts token delete TOKEN...')
  await using cluster = await connectCluster(platform, flags)
  for (const text of words) {
    const id = await deleteBootstrapToken(cluster.client, text)
    terminal.write(`bootstrap token ${JSON.stringify(id)} deleted\n`)
  }
  return 0
}
