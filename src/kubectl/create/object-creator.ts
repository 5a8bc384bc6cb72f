import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { Invocation } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { boolFlag } from '../flag-types.ts'
import type { CommandNamespace, Factory } from '../factory.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf, type ResultPrinter } from '../printers/result-printer.ts'
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  validateFlag,
  type DryRun,
} from '../write-flags.ts'
import {
  generatedObject,
  withGeneratedConfiguration,
  type GeneratedResource,
  type ObjectContent,
} from './generated-object.ts'

export const saveConfigFlag = boolFlag(
  'Save the configuration of the object in its annotation, for a later "kubectl apply".',
)

/** The flags of all commands that generate an object and create it. */
export const createFlags = {
  ...printFlags,
  'dry-run': dryRunFlag,
  'field-manager': fieldManagerFlag('kubectl-create'),
  'save-config': saveConfigFlag,
  'validate': validateFlag,
}

export interface CreateOptions {
  readonly resource: GeneratedResource
  /** The default of the name is that of the creator. */
  readonly content: Partial<ObjectContent>
  /** What messages about an error of the server begin with: `failed to create deployment:`. */
  readonly failure?: string
}

/** Creates the object of a `kubectl create` command at the server and prints it, or only prints it in a dry run. */
export class ObjectCreator {
  /** Of the object. */
  readonly name: string
  /** The arguments after `--`. */
  readonly command: readonly string[]
  readonly namespace: CommandNamespace
  readonly #factory: Factory
  readonly #flags: FlagValues<typeof createFlags>
  readonly #dryRun: DryRun
  readonly #print: ResultPrinter
  readonly #fieldValidation: string

  private constructor(invocation: Invocation<typeof createFlags>, prepared: Prepared) {
    this.#factory = invocation.factory
    this.#flags = invocation.flags
    this.name = prepared.name
    this.command = invocation.args.slice(1)
    this.namespace = prepared.namespace
    this.#dryRun = prepared.dryRun
    this.#print = prepared.print
    this.#fieldValidation = prepared.fieldValidation
  }

  /** Reads the common flags and arguments. Throws Error and CommandUsageError. */
  static async open(invocation: Invocation<typeof createFlags>): Promise<ObjectCreator> {
    const { factory, flags, streams } = invocation
    const name = nameIn(invocation)
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun, keepsFieldOrder: true })
    const fieldValidation = fieldValidationOf(flags.validate)
    const namespace = await factory.namespace()
    return new ObjectCreator(invocation, { name, dryRun, print, fieldValidation, namespace })
  }

  async create({ resource, content, failure }: CreateOptions): Promise<void> {
    const object = this.#objectOf(resource, content)
    if (this.#dryRun === 'client') {
      this.#print(object, 'created')
      return
    }
    const { namespace } = this.namespace
    const resources = await this.#factory.resources()
    const location = { mapping: resource, ...(resource.scope === 'Namespaced' && { namespace }) }
    try {
      const created = await resources.create(location, object, {
        dryRun: this.#dryRun === 'server',
        fieldManager: this.#flags['field-manager'] ?? 'kubectl-create',
        fieldValidation: this.#fieldValidation,
      })
      this.#print(created, 'created')
    } catch (error) {
      if (failure === undefined || !isApiError(error)) throw error
      throw new Error(`${failure} ${error.message}`, { cause: error })
    }
  }

  #objectOf(resource: GeneratedResource, { metadata = {}, ...content }: Partial<ObjectContent>): JsonObject {
    const { namespace, isExplicit } = this.namespace
    const isPlaced = isExplicit && resource.scope === 'Namespaced'
    const named = { name: this.name, ...metadata, ...(isPlaced && { namespace }) }
    const object = generatedObject(resource, { metadata: named, ...content })
    return this.#flags['save-config'] ? withGeneratedConfiguration(object) : object
  }
}

interface Prepared {
  readonly name: string
  readonly namespace: CommandNamespace
  readonly dryRun: DryRun
  readonly print: ResultPrinter
  readonly fieldValidation: string
}

/** The only argument before `--`. */
export function nameIn({ args, dashIndex = args.length }: Pick<Invocation, 'args' | 'dashIndex'>): string {
  if (dashIndex !== 1) throw new CommandUsageError(`exactly one NAME is required, got ${dashIndex}`)
  return args[0]!
}

/** For commands that need a name before they send anything. */
export function requireName({ name }: Pick<ObjectCreator, 'name'>): void {
  if (name === '') throw new Error('name must be specified')
}
