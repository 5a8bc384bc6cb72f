import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { readAll } from '#/base/read-all.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { boolFlag, stringArrayFlag, stringFlag, stringSliceFlag } from '../../flag-types.ts'
import { requireResources } from '../../resource/find-resources.ts'
import { kindText, metadataText, type Info } from '../../resource/info.ts'
import {
  describeReference,
  environmentFrom,
  nameOf,
  parseEnvironment,
  requireNoOverwrites,
  splitEnvironmentArguments,
  updateEnvironment,
  type EnvironmentChanges,
  type EnvironmentVariable,
} from '../../set/environment.ts'
import { nameTest, textOf, withContainers, withPodSpec } from '../../set/pod-spec.ts'
import { setFlags } from '../../set/set-flags.ts'
import { findSetObjects, setObjects, validateSetFlags } from '../../set/set-objects.ts'
import { dryRunOf, filesOf, selectorFlag } from '../../write-flags.ts'

const envFlags = {
  ...setFlags,
  containers: stringFlag('Names of the containers to change, with * as wildcard.', {
    shorthand: 'c',
    shownDefault: `'*'`,
  }),
  env: stringArrayFlag('Variable to set, as KEY=VALUE.', { shorthand: 'e' }),
  from: stringFlag('ConfigMap or Secret whose keys become variables: configmap/web.'),
  keys: stringSliceFlag('Keys to take from the object of --from.'),
  list: boolFlag('Show the variables, with the changes, instead of storing them.'),
  overwrite: boolFlag('Overwrite variables that have another value.', { shownDefault: 'true' }),
  prefix: stringFlag('Prefix of the names of the variables.'),
  resolve: boolFlag('With --list, show the values of references.'),
  selector: selectorFlag,
}

type EnvInvocation = Invocation<typeof envFlags>

export const command = defineCommand({
  usage: 'env RESOURCE/NAME KEY_1=VAL_1 ... KEY_N=VAL_N',
  description: `Updates environment variables of the containers of pod templates, or lists them with --list.
KEY- removes a variable, and - reads lines with KEY=VALUE from stdin.`,
  examples: `  # Set a variable in all containers of a deployment
  kubectl set env deployment/web STORAGE=/local

  # Show the variables
  kubectl set env deployment/web --list
  kubectl set env pods --all --list

  # Set a variable in one container, and remove one
  kubectl set env deployment/web -c main LEVEL=debug TRACE-

  # The keys of a secret as variables with a prefix
  kubectl set env --from=secret/database --prefix=DB_ deployment/web

  # The variables of this shell
  env | grep WEB_ | kubectl set env deployment/web -`,
  flags: envFlags,
  async run(invocation) {
    const { args, flags, streams } = invocation
    const { selector: labelSelector } = flags
    if (flags.all && labelSelector) throw new Error('cannot set --all and --selector at the same time')
    const { resources, words } = splitEnvironmentArguments(args)
    validateSetFlags(invocation, { dryRun: dryRunOf(flags['dry-run'], streams), labelSelector })
    validateFlags(invocation, resources)
    const changes = await changesOf(invocation, words)
    const infos = await findSetObjects(invocation, { resources, labelSelector })
    if (flags.list) return listEnvironments(invocation, infos, changes)
    await setObjects(invocation, {
      infos,
      operation: 'env updated',
      failure: 'failed to patch env update to pod template: ',
      change: (object, { name }) => withEnvironment(invocation, { object, name, changes }),
    })
  },
})

function validateFlags({ flags }: EnvInvocation, resources: readonly string[]): void {
  if ((flags.filename ?? []).length === 0 && resources.length === 0) {
    throw new Error('one or more resources must be specified as <resource> <name> or <resource>/<name>')
  }
  if (flags.list && flags.output) throw new Error('--list and --output may not be specified together')
  if ((flags.keys ?? []).length > 0 && !flags.from) {
    throw new Error('when specifying --keys, a configmap or secret must be provided with --from')
  }
}

const inputBytesMax = 10_000_000

async function changesOf(invocation: EnvInvocation, words: readonly string[]): Promise<EnvironmentChanges> {
  const { flags, streams } = invocation
  const given = [...(flags.env ?? []), ...words]
  const input = given.includes('-') ? await readAll(streams.stdin.bytes(), inputBytesMax) : new Uint8Array()
  const { set, removed } = parseEnvironment(given, Buffer.from(input).toString())
  const all = [...set, ...(await variablesFrom(invocation))]
  const prefix = flags.prefix ?? ''
  return { set: all.map(variable => ({ ...variable, name: `${prefix}${nameOf(variable)}` })), removed }
}

/** The variables of `--from`. */
async function variablesFrom({ flags, factory }: EnvInvocation): Promise<readonly EnvironmentVariable[]> {
  if (!flags.from) return []
  const infos = await requireResources(factory, {
    ...filesOf(flags),
    args: flags.local ? [] : [flags.from],
    allowEmptySelector: flags.all,
    local: flags.local,
    latest: !flags.local,
  })
  return infos.flatMap(({ object = {} }) => {
    const variables = environmentFrom(object, flags.keys ?? [])
    if (variables === undefined) throw new Error('unsupported resource specified in --from')
    return variables.map(({ key, ...variable }) => {
      if (nameOf(variable) !== key) factory.printWarning(`key ${key} transferred to ${nameOf(variable)}`)
      return variable
    })
  })
}

interface ChangedObject {
  readonly object: JsonObject
  readonly name: string
  readonly changes: EnvironmentChanges
}

function withEnvironment(
  { flags, factory }: EnvInvocation,
  { object, name, changes }: ChangedObject,
): JsonObject {
  const pattern = flags.containers ?? '*'
  return withPodSpec(object, spec => {
    const changed = withContainers(spec, {
      selects: nameTest(pattern),
      change: container => {
        const existing = environmentOf(container)
        if (flags.overwrite === false) requireNoOverwrites(existing, changes)
        const env = updateEnvironment(existing, changes)
        return env.length === 0 && container['env'] === undefined ? container : { ...container, env }
      },
    })
    if (changed === undefined) {
      factory.printWarning(
        `${kindText(object)}/${name} does not have any containers matching ${JSON.stringify(pattern)}`,
      )
    }
    return changed ?? spec
  })
}

function environmentOf({ env }: JsonObject): readonly EnvironmentVariable[] {
  return Array.isArray(env) ? env.filter(isObject) : []
}

/** Objects without pods are skipped. */
async function listEnvironments(
  invocation: EnvInvocation,
  infos: readonly Info[],
  changes: EnvironmentChanges,
): Promise<void> {
  const { flags, factory } = invocation
  const { EnvironmentResolver } = await import('../../set/resolve-environment.ts')
  const resolver = new EnvironmentResolver(factory)
  for (const { object = {}, name, namespace } of infos) {
    const listed: JsonObject[] = []
    try {
      const changed = withEnvironment(invocation, { object, name, changes })
      withPodSpec(changed, spec => {
        const collect = (container: JsonObject): JsonObject => {
          listed.push(container)
          return container
        }
        withContainers(spec, { selects: nameTest(flags.containers ?? '*'), change: collect })
        return spec
      })
    } catch {
      continue
    }
    for (const container of listed) {
      await listContainer(invocation, {
        resolver,
        container,
        object,
        namespace: namespace || metadataText(object, 'namespace'),
      })
    }
  }
}

interface ListedContainer {
  readonly resolver: {
    resolve(valueFrom: JsonObject, context: Omit<ListedContainer, 'resolver'>): Promise<string>
  }
  readonly container: JsonObject
  readonly object: JsonObject
  readonly namespace: string
}

async function listContainer(
  { flags, streams }: EnvInvocation,
  { resolver, container, object, namespace }: ListedContainer,
): Promise<void> {
  const failed = new Map<string, string[]>()
  streams.write(
    `# ${kindText(object)} ${metadataText(object, 'name')}, container ${textOf(container['name'])}\n`,
  )
  for (const variable of environmentOf(container)) {
    const name = nameOf(variable)
    const { valueFrom } = variable
    if (!isObject(valueFrom)) {
      streams.write(`${name}=${textOf(variable['value'])}\n`)
      continue
    }
    try {
      if (flags.resolve) {
        streams.write(`${name}=${await resolver.resolve(valueFrom, { container, object, namespace })}\n`)
        continue
      }
    } catch (error) {
      failed.getOrInsertComputed(messageOf(error), () => []).push(name)
    }
    streams.write(`# ${name} from ${describeReference(valueFrom)}\n`)
  }
  const lines = [...failed].map(
    ([reason, names]) => `error retrieving reference for ${names.sort().join(', ')}: ${reason}\n`,
  )
  for (const line of lines.sort()) streams.stderr.write(line)
}
