/** Adds the path to errors of file handles, which do not include it. */
export async function withPath<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && !('path' in error)) {
      error.message = `${error.message} '${path}'`
      Object.assign(error, { path })
    }
    throw error
  }
}
