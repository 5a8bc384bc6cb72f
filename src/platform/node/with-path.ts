/** What goes wrong with a file that is open does not say which one it is; people want to know. */
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
