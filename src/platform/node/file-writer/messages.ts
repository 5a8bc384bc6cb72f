/** The requests to the file writer thread, and its replies. */
import type { FileStep } from '../../platform.ts'

export interface Request {
  readonly id: number
  readonly steps: readonly FileStep[]
}

export interface Reply {
  readonly id: number
  /** The first error; undefined on success. */
  readonly error: FileError | undefined
}

export interface FileError {
  readonly message: string
  readonly code: string | undefined
  /** Index of the failed step. */
  readonly step: number
}
