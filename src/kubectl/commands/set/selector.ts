import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { changeCauseOf, withChangeCause } from '../../change-cause.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { toCompactJson } from '../../printers/object-printer.ts'
import { resultPrinterOf } from '../../printers/result-printer.ts'
import { findResources, throwAny, visitInfos } from '../../resource/find-resources.ts'
import { locationOf, type Info } from '../../resource/info.ts'
import { objectOf } from '../../set/pod-spec.ts'
import { recordedSetFlags } from '../../set/set-flags.ts'
import { isKind } from '../../set/set-objects.ts'
import { dryRunOf, filesOf, type DryRun } from '../../write-flags.ts'

const { kustomize: _kustomize, ...commonFlags } = recordedSetFlags

const selectorFlags = {
  ...commonFlags,
  'recursive': boolFlag('Include the folders below the folders given by --filename.', {
    shorthand: 'R',
    shownDefault: 'true',
  }),
  'resource-version': stringFlag('Fail if the object has another resourceVersion.'),
}

type SelectorInvocation = Invocation<typeof selectorFlags>

export const command = defineCommand({
  usage: 'selector (-f FILENAME | TYPE NAME) EXPRESSIONS [--resource-version=version]',
  description: `Sets the selector of services. The new selector replaces the old one.

The labels of a selector begin with a letter or number and may have letters, numbers, hyphens, dots and
underscores, up to 63 characters.`,
  examples: `  # Set the selector of a service before it is created
  kubectl create service clusterip web --clusterip=None -o yaml --dry-run=client |
    kubectl set selector --local -f - environment=qa -o yaml | kubectl create -f -`,
  flags: selectorFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const expression = args.at(-1)
    const selector = expression === undefined ? undefined : parseLabels(expression)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
    if (selector === undefined) throw new Error('one selector is required')
    const files = filesOf({ ...flags, recursive: flags.recursive ?? true })
    const found = await findResources(
      factory,
      flags.local
        ? { ...files, local: true }
        : { ...files, args: args.slice(0, -1), allowEmptySelector: flags.all, latest: true },
    )
    const failures = await visitInfos(found.infos, async info => {
      print(await setSelector(invocation, { info, selector, dryRun }), 'selector updated')
    })
    throwAny([...found.errors, ...failures])
  },
})

interface Selection {
  readonly labels: JsonObject
  /** Requirements that services do not support, as messages show them. */
  readonly unsupported: readonly string[]
}

function parseLabels(text: string): Selection {
  const labels: JsonObject = {}
  const unsupported: string[] = []
  for (const { key, operator, values } of requirementsOf(text)) {
    const [value = ''] = values
    if (operator === '=' || operator === '==') labels[key] = value
    else if (operator === 'gt' || operator === 'lt') {
      throw new Error(`${JSON.stringify(operator)} isn't supported in label selectors`)
    } else {
      const name = expressionOperators[operator] ?? 'NotIn'
      unsupported.push(`{${key} ${name} [${values.toSorted((a, b) => (a < b ? -1 : 1)).join(' ')}]}`)
    }
  }
  return { labels, unsupported }
}

const expressionOperators: Readonly<Record<string, string>> = {
  'in': 'In',
  'notin': 'NotIn',
  'exists': 'Exists',
  '!': 'DoesNotExist',
}

function requirementsOf(text: string) {
  try {
    return parseSelector(text).requirements
  } catch (error) {
    throw new Error(`couldn't parse the selector string "${text}": ${messageOf(error)}`, { cause: error })
  }
}

async function setSelector(
  invocation: SelectorInvocation,
  { info, selector, dryRun }: { readonly info: Info; readonly selector: Selection; readonly dryRun: DryRun },
): Promise<JsonObject> {
  const { flags, factory } = invocation
  const { object = {} } = info
  if (!isKind(object, 'Service', '')) throw new Error('setting a selector is only supported for Services')
  if (selector.unsupported.length > 0) {
    throw new Error(`match expression [${selector.unsupported.join(' ')}] not supported on this object`)
  }
  const spec = objectOf(object['spec'])
  const cause = changeCauseOf(invocation)
  const changed = withChangeCause({ ...object, spec: { ...spec, selector: selector.labels } }, cause)
  if (flags.local || dryRun === 'client') return changed
  const removed = Object.keys(objectOf(spec['selector'])).filter(key => !Object.hasOwn(selector.labels, key))
  const patch = withChangeCause(
    { spec: { selector: { ...selector.labels, ...Object.fromEntries(removed.map(key => [key, null])) } } },
    cause,
  )
  const version = flags['resource-version']
  const metadata = isObject(patch['metadata']) ? patch['metadata'] : {}
  const body = version ? { ...patch, metadata: { ...metadata, resourceVersion: version } } : patch
  const resources = await factory.resources()
  const write = { dryRun: dryRun === 'server', fieldManager: flags['field-manager'] ?? 'kubectl-set' }
  return resources.patch(locationOf(info), { type: 'strategic', body: toCompactJson(body) }, write)
}
