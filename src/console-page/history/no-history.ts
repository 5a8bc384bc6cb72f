import { ApiError as ServerError } from '#/api/errors.ts'
import { ApiError } from '../data/api-error.ts'

export const noHistoryText =
  'This server keeps no history: only API servers of k8ts do, unless it is switched off.'

/** Other servers answer 404 to the paths of the history, and k8ts 400 if it is switched off. */
export function isWithoutHistory(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 404 || isSwitchedOff(error.status, error.message)
  if (error instanceof ServerError) return isSwitchedOff(error.code, error.message)
  return error instanceof Error && error.name === 'NoHistoryError'
}

function isSwitchedOff(status: number, message: string): boolean {
  return status === 400 && message.includes('no history is kept')
}
