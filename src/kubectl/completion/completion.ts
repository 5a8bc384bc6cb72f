/** What the shell does with the candidates, as cobra encodes it: a sum of these. */
export const directives = { default: 0, noSpace: 2, noFiles: 4, filterFiles: 8 } as const

export interface Completion {
  /** With a tab before the description, if there is one. */
  readonly candidates: readonly string[]
  readonly directive: number
}

export const nothingToComplete: Completion = { candidates: [], directive: directives.noFiles }

/** The shell completes names of files. */
export const defaultCompletion: Completion = { candidates: [], directive: directives.default }
