import { UsageError } from '#/base/flags.ts'
import { quote } from '#/api/text/quote.ts'
import { CommandUsageError } from '../errors.ts'
import { podTimeoutMs } from '../pods/pod-flags.ts'
import type { DryRun } from '../write-flags.ts'
import { oldRunFlags, type RunInvocation } from './run-flags.ts'

/** Throws Error, UsageError or CommandUsageError. */
export function validateRun(invocation: RunInvocation, { dryRun, attach }: ValidateOptions): void {
  const { args, flags } = invocation
  if (args.length === 0) throw new CommandUsageError('NAME is required for run')
  podTimeoutMs(flags['pod-running-timeout'])
  const { image = '', restart = '' } = flags
  if (image === '') throw new Error('--image is required')
  if (!isImageReference(image))
    throw new Error(`Invalid image name ${quote(image)}: invalid reference format`)
  if (flags.tty && !flags.stdin) {
    throw new CommandUsageError('-i/--stdin is required for containers with -t/--tty=true')
  }
  if (flags.expose && !flags.port) throw new CommandUsageError('--port must be set when exposing a service')
  if (!['', 'Always', 'OnFailure', 'Never'].includes(restart)) {
    throw new CommandUsageError(`invalid restart policy: ${restart}`)
  }
  if (flags.rm && !attach) throw new CommandUsageError('--rm should only be used for attached containers')
  if (attach && dryRun !== 'none') {
    throw new CommandUsageError(
      "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
    )
  }
  const policy = flags['image-pull-policy'] ?? ''
  if (!['', 'Always', 'IfNotPresent', 'Never'].includes(policy)) {
    throw new CommandUsageError(`invalid image pull policy: ${policy}`)
  }
}

export interface ValidateOptions {
  readonly dryRun: DryRun
  readonly attach: boolean
}

/** True if the generators of kubectl before 1.18 are allowed. */
export function allowsOldGenerators({ factory }: RunInvocation): boolean {
  return /^(?:1|true)$/i.test(factory.machine.environment['KUBECTL_OLD_GENERATORS'] ?? '')
}

/** Throws UsageError if flags of old generators are given and not allowed. */
export function validateOldFlags(invocation: RunInvocation): void {
  if (allowsOldGenerators(invocation)) return
  const old = [...invocation.flagTexts.keys()].find(name => Object.hasOwn(oldRunFlags, name))
  if (old !== undefined) throw new UsageError(`unknown flag: --${old}`)
}

/**
 * True for a well-formed image reference: `registry.example.com:5000/shop/web:1.2@sha256:...`. Its parts are split
 * before they are matched, so that the time is linear.
 */
export function isImageReference(text: string): boolean {
  const at = text.indexOf('@')
  if (at !== -1 && !digestPattern.test(text.slice(at + 1))) return false
  const path = (at === -1 ? text : text.slice(0, at)).split('/')
  const [repository = '', tag, ...more] = path.pop()!.split(':')
  if (more.length > 0 || (tag !== undefined && !tagPattern.test(tag))) return false
  const [first, ...rest] = path
  const areComponents = [...rest, repository].every(each => componentPattern.test(each))
  return areComponents && (first === undefined || componentPattern.test(first) || isDomain(first))
}

const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/
const tagPattern = /^\w[\w.-]{0,127}$/
const componentPattern = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/

/** `registry.example.com:5000`, `[::1]:5000`. */
function isDomain(text: string): boolean {
  const [, host = '', port] = /^(\[[0-9a-fA-F:]+\]|[^:]*)(?::(.*))?$/.exec(text) ?? []
  if (port !== undefined && !/^\d+$/.test(port)) return false
  if (host.startsWith('[')) return true
  return host.split('.').every(label => /^[a-zA-Z0-9-]+$/.test(label) && !/^-|-$/.test(label))
}
