/** Errors of kubeconfigs, with what is wrong as a field, since kubectl reports them in its own words. */

/** A kubeconfig that cannot be used: its context, cluster or user is missing or contradicts itself. */
export class InvalidKubeconfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`cannot use the kubeconfig: ${problems.join('; ')}`)
    this.name = 'InvalidKubeconfigError'
    this.problems = problems
  }
}

/** The context to use is in none of the files. */
export class ContextNotFoundError extends InvalidKubeconfigError {
  readonly context: string
  /** Names of the contexts that there are. */
  readonly known: readonly string[]

  constructor(context: string, known: readonly string[]) {
    super([`context was not found for specified context: ${context}`])
    this.name = 'ContextNotFoundError'
    this.context = context
    this.known = known
  }
}

interface KubeconfigFileOptions extends ErrorOptions {
  readonly path: string
  /** As given on the command line or in the environment. */
  readonly given: string
  readonly reason: string
  readonly isMissing?: boolean
}

/** A file that cannot be read. */
export class KubeconfigFileError extends Error {
  readonly given: string
  readonly reason: string
  readonly isMissing: boolean

  constructor({ path, given, reason, isMissing = false, ...options }: KubeconfigFileOptions) {
    super(`cannot read kubeconfig ${path}: ${reason}`, options)
    this.name = 'KubeconfigFileError'
    this.given = given
    this.reason = reason
    this.isMissing = isMissing
  }
}
