// Types alone: types.d.ts.
export {};
