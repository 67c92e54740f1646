/** The categories that the example's RPCs charge. */
export const CATEGORIES = ['request', 'publish', 'identity_update', 'chain_verify', 'push', 'upload', 'stream_rent']
